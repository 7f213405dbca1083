"""`over` against its oracle: the same rows in the same order, the same letters and counts, whatever the cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model import aggregates as agg
from fanlight.model.over.frame import rows
from fanlight.model.over.functions import lead
from fanlight.model.over.spec import OverSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.oracle.over import OverOutcome
from fanlight.testing.oracle.row_stages import OverStage
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.overs import (
    OverPipeline,
    orders,
    over_pipelines,
    overs,
    range_frames,
    row_frames,
    session_frames,
)
from fanlight.testing.strategies.scripts import cut, records
from fanlight.testing.strategies.specs import durations

from .laws import ROUNDING, SCHEMA, brief, letter, patient
from .over_runs import OverRun, as_on_spark, by_law, embedded, on_spark

pytestmark = pytest.mark.slow

restarts = st.sets(st.integers(0, 8))


def assert_same(ours: list[OverOutcome], law: list[OverOutcome]) -> None:
    """Step by step the same rows in the same order, the same letters, the same counts."""
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows, tolerance=ROUNDING), f"step {step}\nengine: {mine.rows}\nlaw: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert (mine.records_in, mine.accepted) == (right.records_in, right.accepted), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"
        assert same(mine.withheld, right.withheld), f"step {step}: {mine.withheld} != {right.withheld}"


def letters(outcome: OverOutcome) -> list[str]:
    """The letters of a step, in an order of their own: which reason is looked for first is no part of the law."""
    return sorted(letter(item) for item in outcome.dead_letters)


@patient
@given(over_pipelines(), restarts)
def test_the_engine_does_what_the_oracle_says_with_restarts_in_between(
    pipeline: OverPipeline, restarts: set[int]
) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(over_pipelines(frames=range_frames(), most=2), restarts)
def test_frames_over_time(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(over_pipelines(frames=row_frames(), most=2), restarts)
def test_frames_of_rows(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(over_pipelines(frames=session_frames(), most=2), restarts)
def test_frames_of_sessions(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(over_pipelines(most=1, watermark=Explicit(), ahead=None, forget=durations(0, 5)), restarts)
def test_stretches_that_come_and_go(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@st.composite
def settled(draw: st.DrawFn) -> tuple[OverSpec, list[Record]]:
    """A spec under which only equal rows are left in the order they came, and records of any order."""
    strategy = draw(st.builds(BoundedDisorder, durations(0, 12), st.booleans()))
    spec = draw(overs(order=orders(settled=True), watermark=strategy, ahead=None))
    return spec, list(draw(records(least=1, most=15, unusable=())))


@patient
@given(settled(), st.data())
def test_neither_the_cut_nor_the_order_of_arrival_shows_in_the_end(
    pipeline: tuple[OverSpec, list[Record]], data: st.DataObject
) -> None:
    spec, stream = pipeline
    assert isinstance(spec.watermark, BoundedDisorder)
    at_once = embedded(replace(spec, watermark=Explicit()), [Step(records=tuple(stream)), Step(end=True)], SCHEMA)
    delays = data.draw(
        st.lists(st.integers(0, spec.watermark.delay.micros), min_size=len(stream), max_size=len(stream))
    )
    late = sorted(zip(delays, stream, strict=True), key=lambda pair: pair[0] + pair[1]["ts"])
    bundles = data.draw(cut([record for _, record in late]))
    outcomes = embedded(spec, [*(Step(records=bundle) for bundle in bundles), Step(end=True)], SCHEMA)
    assert not any(outcome.dead_letters for outcome in outcomes), "no record is later than the watermark allows"
    assert same(by_record(outcomes), by_record(at_once), tolerance=ROUNDING)


def by_record(outcomes: Sequence[OverOutcome]) -> list[Record]:
    """All rows, ordered by what came; equal ones as they left."""
    rows = [row for outcome in outcomes for row in outcome.rows]
    return sorted(rows, key=lambda row: repr([row[name] for name in SCHEMA.names]))


@brief
@given(over_pipelines())
def test_every_record_is_accounted_for_and_every_accepted_one_leaves_once(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    outcomes = embedded(spec, steps, SCHEMA)
    for step, outcome in zip(steps, outcomes, strict=True):
        assert outcome.records_in == len(step.records) == outcome.accepted + len(outcome.dead_letters)
    assert sum(outcome.accepted for outcome in outcomes) == sum(len(outcome.rows) for outcome in outcomes)


@brief
@given(over_pipelines())
def test_nothing_remains_after_the_end(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    run = OverRun(spec, SCHEMA)
    for step in steps:
        run.step(step)
    assert set(run.store.spaces) <= {"index"}
    assert run.step(Step(clock=2**60)).rows == ()


@brief
@given(over_pipelines())
def test_the_same_log_gives_the_same_bytes(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    runs = [OverRun(spec, SCHEMA) for _ in range(2)]
    for step in steps:
        first, second = (run.step(step) for run in runs)
        assert same(first.rows, second.rows)
        assert runs[0].shard.snapshot() == runs[1].shard.snapshot()


@brief
@given(over_pipelines())
def test_no_row_leaves_below_the_watermark_that_was_handed_on(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    stage, handed_on = OverStage(spec), START_OF_TIME
    for step in steps:
        assert all(row["ts"] >= handed_on for row in stage.records(stage.step(step).rows))
        handed_on = stage.hands_on()
        assert handed_on == spec.hands_on(stage.oracle.watermark)


def test_nor_does_one_whose_lead_passes_over_nulls() -> None:
    """The row of time 0 waits for a value, while rows without one keep its stretch open for as long as they like."""
    spec = OverSpec("ts", (("c", rows(0), lead("v", ignore_nulls=True)),), forget=Duration(4), watermark=Explicit())
    came: list[Record] = [{"ts": 0, "v": 1}, *({"ts": time, "v": None} for time in (4, 8, 12))]
    first, then = by_law(
        spec, [Step(records=tuple(came), watermark=13), Step(records=({"ts": 14, "v": 5},), watermark=15)]
    )
    assert first.rows == ()
    assert then.rows[0] == {"ts": 0, "v": 1, "c": 5}
    assert then.rows[0]["ts"] >= spec.hands_on(first.watermark)


def test_all_rows_leave_when_the_watermark_says_that_nothing_more_can_come() -> None:
    """What is handed on is the end of time, too: a row that left after it would be expired in the next stage."""
    spec = OverSpec("ts", (("c", rows(0, following=1), agg.count()),), forget=Duration.FOREVER, watermark=Explicit())
    last = Step(records=({"ts": 0, "k": "a", "v": 0, "f": 0.0, "b": True},), watermark=END_OF_TIME)
    assert spec.hands_on(END_OF_TIME) == END_OF_TIME
    assert_same(embedded(spec, [last, Step(end=True)], SCHEMA), by_law(spec, [last, Step(end=True)]))


@brief
@given(over_pipelines(watermark=Explicit(), keys=("k",), ahead=None))
def test_the_processor_on_spark_gives_the_same(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    steps = as_on_spark(steps)
    assert_same(on_spark(spec, steps, SCHEMA), by_law(spec, steps))


@brief
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([2**62, -(2**62), 2**63 - 1, 1, None])), max_size=12),
    row_frames(unbounded=True),
    restarts,
)
def test_a_value_that_its_type_cannot_hold_withholds_its_row_alone(
    came: list[tuple[int, Any]], frame: Any, restarts: set[int]
) -> None:
    schema = pa.schema({"ts": pa.int64(), "v": pa.int64()})
    spec = OverSpec("ts", (("n", rows(0), agg.count()), ("s", frame, agg.sum("v"))), forget=Duration.FOREVER)
    steps = [Step(records=({"ts": time, "v": value},)) for time, value in came]
    ours, law = (
        embedded(spec, [*steps, Step(end=True)], schema, restarts),
        by_law(spec, [*steps, Step(end=True)]),
    )
    assert_same(ours, law)
