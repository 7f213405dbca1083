"""The modes of `over` against the oracle: as rows come, and kept up to date; the same rows in every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model import aggregates as agg
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.frame import rows
from fanlight.model.over.spec import OverSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import Explicit
from fanlight.testing.oracle.over import OverOutcome
from fanlight.testing.oracle.over_modes import RetractingOracle
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.over_modes import (
    eager_pipelines,
    on_close,
    reordered_pipelines,
    retracting_pipelines,
)
from fanlight.testing.strategies.overs import OverPipeline, row_frames

from .laws import ROUNDING, SCHEMA, brief, patient
from .over_runs import OverRun, as_on_spark, by_law, embedded, on_spark
from .test_over import assert_same as assert_same_steps

pytestmark = pytest.mark.slow

restarts = st.sets(st.integers(0, 8))
CHANGED = SCHEMA.append(pa.field("op", pa.string()))
MODES = (eager_pipelines, retracting_pipelines, reordered_pipelines)
any_mode = st.one_of(*(one() for one in MODES))


def assert_same(ours: list[OverOutcome], law: list[OverOutcome]) -> None:
    """Step by step the same, but for corrections that say the same but for rounding: these are left out."""
    assert_same_steps([*map(without_rounding, ours)], [*map(without_rounding, law)])


def without_rounding(outcome: OverOutcome) -> OverOutcome:
    """The step without each `-U` that the `+U` after it says again, but for rounding."""
    left: list[Record] = []
    for row in outcome.rows:
        if row.get("op") == "+U" and same({**left[-1], "op": "+U"}, dict(row), tolerance=ROUNDING):
            left.pop()
        else:
            left.append(row)
    return replace(outcome, rows=tuple(left))


def columns_of(spec: OverSpec) -> pa.Schema:
    return SCHEMA if spec.changes is None else CHANGED


@patient
@given(eager_pipelines(), restarts)
def test_rows_leave_as_they_come(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(retracting_pipelines(changes=False), restarts)
def test_rows_are_kept_up_to_date(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, SCHEMA, restarts), by_law(spec, steps))


@patient
@given(retracting_pipelines(changes=True), restarts)
def test_rows_follow_changes(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, CHANGED, restarts), by_law(spec, steps))


@patient
@given(reordered_pipelines(), restarts)
def test_rows_are_kept_up_to_date_in_any_order(pipeline: OverPipeline, restarts: set[int]) -> None:
    spec, steps = pipeline
    assert_same(embedded(spec, steps, columns_of(spec), restarts), by_law(spec, steps))


@brief
@given(eager_pipelines(watermark=Explicit(), ahead=None))
def test_of_one_bundle_rows_are_those_that_leave_on_close(pipeline: OverPipeline) -> None:
    """All of a key's rows are known then, and no frame looks at a row after its own."""
    spec, steps = pipeline
    stream = tuple(record for step in steps for record in step.records)
    once = [Step(records=stream), Step(end=True)]
    eager, closed = embedded(spec, once, SCHEMA), embedded(on_close(spec), once, SCHEMA)
    assert same(by_record(rows_of(eager)), by_record(rows_of(closed)), tolerance=ROUNDING)


@patient
@given(retracting_pipelines())
def test_what_is_left_when_all_is_taken_back_is_what_leaves_on_close(pipeline: OverPipeline) -> None:
    """The rows that were accepted and not deleted, as one bundle: nothing of them is late, and all are complete."""
    spec, steps = pipeline
    outcomes = embedded(spec, steps, columns_of(spec))
    oracle = RetractingOracle(spec)
    for step in steps:
        oracle.step(step)
    closed = embedded(on_close(spec), [Step(records=accepted(oracle)), Step(end=True)], SCHEMA)
    assert same(by_record(net(outcomes)), by_record(rows_of(closed)), tolerance=ROUNDING)


def accepted(oracle: RetractingOracle) -> tuple[Record, ...]:
    """The rows that are live, in the order they came."""
    return tuple(row.record for row in oracle.live)


def rows_of(outcomes: Sequence[OverOutcome]) -> list[Record]:
    return [row for outcome in outcomes for row in outcome.rows]


def by_record(rows: Sequence[Record]) -> list[Record]:
    """Rows ordered by what came; equal ones by what was computed."""
    return sorted(rows, key=lambda row: repr([row[name] for name in (*SCHEMA.names, *sorted(row))]))


def net(outcomes: Sequence[OverOutcome]) -> list[Record]:
    """The rows that are left when all changes are made. Each delete must have its row, equal in all columns."""
    left: list[Record] = []
    for change in rows_of(outcomes):
        row = {name: value for name, value in change.items() if name != "op"}
        if change["op"] in ("+I", "+U"):
            left.append(row)
            continue
        place = next(place for place, other in enumerate(left) if same(dict(other), row))
        del left[place]
    return left


@brief
@given(reordered_pipelines())
def test_in_any_order_what_is_left_is_computed_over_the_rows_that_live(pipeline: OverPipeline) -> None:
    """After every step: the same rows, as one bundle of a run that keeps all of them."""
    spec, steps = pipeline
    run, oracle, outcomes = OverRun(spec, columns_of(spec)), RetractingOracle(spec), []
    for step in steps:
        outcomes.append(run.step(step))
        oracle.step(step)
        if step.end or step.watermark == END_OF_TIME:
            break
        fresh = replace(spec, retention=Duration.FOREVER, changes=None, watermark=Explicit(), ahead=None)
        (at_once,) = embedded(fresh, [Step(records=accepted(oracle))], SCHEMA)
        assert same(by_record(net(outcomes)), by_record(net([at_once])), tolerance=ROUNDING)


@brief
@given(any_mode)
def test_every_record_is_accounted_for(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    for step, outcome in zip(steps, embedded(spec, steps, columns_of(spec)), strict=True):
        assert outcome.records_in == len(step.records) == outcome.accepted + len(outcome.dead_letters)


@brief
@given(any_mode)
def test_the_same_log_gives_the_same_bytes(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    runs = [OverRun(spec, columns_of(spec)) for _ in range(2)]
    for step in steps:
        first, second = (run.step(step) for run in runs)
        assert same(first.rows, second.rows)
        assert runs[0].shard.snapshot() == runs[1].shard.snapshot()


@brief
@given(st.one_of(*(one(watermark=Explicit(), keys=("k",), ahead=None) for one in MODES)))
def test_the_processor_on_spark_gives_the_same(pipeline: OverPipeline) -> None:
    spec, steps = pipeline
    steps = as_on_spark(steps)
    assert_same(on_spark(spec, steps, columns_of(spec)), by_law(spec, steps))


@brief
@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([2**62, -(2**62), 2**63 - 1, 1, None])), max_size=12),
    st.sampled_from([EmissionMode.EAGER, EmissionMode.RETRACTING]),
    row_frames(unbounded=True, following=False),
    restarts,
)
def test_a_value_that_its_type_cannot_hold_withholds_its_row_alone(
    came: list[tuple[int, Any]], mode: EmissionMode, frame: Any, restarts: set[int]
) -> None:
    """A row that was shown before stays as it was, until its value fits again; it is a letter once."""
    schema = pa.schema({"ts": pa.int64(), "v": pa.int64()})
    kept = Duration(3) if mode is EmissionMode.RETRACTING else None
    computed = (("n", rows(0), agg.count()), ("s", frame, agg.sum("v")))
    spec = OverSpec("ts", computed, forget=Duration.FOREVER, mode=mode, retention=kept)
    steps = [*(Step(records=({"ts": time, "v": value},)) for time, value in came), Step(end=True)]
    assert_same(embedded(spec, steps, schema, restarts), by_law(spec, steps))
