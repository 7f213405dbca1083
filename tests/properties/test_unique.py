"""Deduplication against its oracle: the same rows in the same order, the same letters and counts, on both engines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.unique.telling import Telling

from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.testing.oracle.unique import UniqueOracle, UniqueOutcome
from fanlight.testing.script import Record, Step, same

from .laws import halved

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "f": pa.float64(), "s": pa.string(), "n": pa.int64()})

UNIT = 4_000_000
"""What times are whole multiples of: so they spread over many slices, and still meet exactly."""


def units(least: int, most: int) -> st.SearchStrategy[Duration]:
    return st.integers(least, most).map(lambda count: Duration(count * UNIT))


near = st.integers(-5, 30).map(lambda time: time * UNIT)
"""Times close together, so that many are in reach of each other."""
times = st.one_of(near, near, near, st.none(), st.sampled_from([EARLIEST, LATEST, LATEST + 1]))
records = st.fixed_dictionaries(
    {
        "ts": times,
        "k": st.none() | st.integers(0, 1),
        "f": st.sampled_from([None, 0.0, -0.0, float("nan")]),
        "s": st.sampled_from(["", "a"]),
        "n": st.integers(0, 99),
    }
)
bundles = st.lists(records, max_size=16).map(tuple)
watermarks = st.none() | near
clocks = st.none() | st.integers(0, 3).map(lambda clock: 1_000 * clock)
strategies = st.one_of(
    st.just(Explicit()),
    st.builds(BoundedDisorder, units(0, 8), st.booleans()),
)
limits = st.none() | units(0, 20)
identities = st.sampled_from([((), ("s",)), (("s",), ("f", "k")), (("k",), ("k", "f")), (("ts",), ("s",))])
lengths = st.one_of(units(1, 12), st.just(Duration(LATEST - EARLIEST)))


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """Steps of any sort, and the end."""
    steps = draw(st.lists(st.builds(Step, bundles, watermarks, clocks), max_size=8))
    return [*steps, Step(end=True)]


@st.composite
def specs(draw: st.DrawFn) -> UniqueSpec:
    keys, ids = draw(identities)
    said = draw(lengths), draw(st.sampled_from(Keep)), draw(strategies)
    return UniqueSpec("ts", keys, ids, *said, ahead=draw(limits))


def by_law(spec: UniqueSpec, steps: Sequence[Step]) -> list[UniqueOutcome]:
    oracle = UniqueOracle(spec)
    outcomes = [oracle.step(step) for step in steps]
    assert not oracle.held
    return outcomes


def embedded(spec: UniqueSpec, steps: Sequence[Step], restore_before: Collection[int]) -> list[UniqueOutcome]:
    telling, outcomes = Telling(spec, SCHEMA), []
    for place, step in enumerate(steps):
        if place in restore_before:
            telling = telling.restore()
        before = telling.counted
        rows = _step(telling, step)
        counted = [now - then for now, then in zip(telling.counted, before, strict=True)]
        letters = tuple(telling.take_letters())
        assert counted[3] == len(letters)
        handed_on = spec.hands_on(telling.shard.watermark)
        outcomes.append(UniqueOutcome(tuple(rows), letters, *counted[:3], handed_on))
    assert telling.held == 0
    return outcomes


def on_spark(spec: UniqueSpec, steps: Sequence[Step]) -> list[UniqueOutcome]:
    """The processor that runs on Spark, a micro-batch a step; every one is judged as a whole."""
    tester, outcomes = ShardTester(spec, SCHEMA), []
    told = clock = START_OF_TIME
    for step in steps:
        told = max(told, START_OF_TIME if step.watermark is None else step.watermark)
        clock = max(clock, START_OF_TIME if step.clock is None else step.clock)
        came = [pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=SCHEMA)] if step.records else []
        left = tester.batch(came, watermark=told, clock=clock, ends=step.end)
        (account,) = (row for row in left if row["kind"] == ACCOUNT)
        letters = tuple((Reason(one["reason"]), one["record"]) for one in _opened(left, LETTER))
        counted = account["received"], account["accepted"], account["duplicates"]
        handed_on = spec.hands_on(tester.shard().watermark)
        outcomes.append(UniqueOutcome(tuple(_opened(left, FIRING)), letters, *counted, handed_on))
    return outcomes


def assert_same(ours: list[UniqueOutcome], law: list[UniqueOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert counts(mine) == counts(right), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def counts(outcome: UniqueOutcome) -> tuple[int, int, int]:
    return outcome.records_in, outcome.accepted, outcome.duplicates


def letters(outcome: UniqueOutcome) -> list[str]:
    """The letters of a step, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in outcome.dead_letters)


@halved
@given(scripts(), specs(), st.sets(st.integers(0, 8)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    steps: list[Step], spec: UniqueSpec, restarts: set[int]
) -> None:
    assert_same(embedded(spec, steps, restarts), by_law(spec, steps))


@halved
@given(scripts(), specs())
def test_nothing_that_leaves_is_late_for_the_next_stage(steps: list[Step], spec: UniqueSpec) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    before = START_OF_TIME
    for outcome in by_law(spec, steps):
        assert all(row["ts"] >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME


@halved
@given(st.lists(records, max_size=40), st.sets(st.integers(1, 39)), specs())
def test_bundles_cut_anywhere_give_the_same_where_nothing_is_late(
    came: list[Record], cuts: set[int], spec: UniqueSpec
) -> None:
    """Without a watermark before the end no record is late: all that cuts could change is gone."""
    told = UniqueSpec(spec.time, spec.keys, spec.ids, spec.within, spec.keep, Explicit())
    bounds = [0, *sorted(cut for cut in cuts if cut < len(came)), len(came)]
    pieces = [Step(tuple(came[start:end])) for start, end in pairwise(bounds)]
    whole, cut = ([*steps, Step(end=True)] for steps in ([Step(tuple(came))], pieces))
    rows = [[row for outcome in embedded(told, steps, ()) for row in outcome.rows] for steps in (whole, cut)]
    assert same(*rows)


@pytest.mark.slow
@halved
@given(scripts(), specs())
def test_the_processor_on_spark_gives_the_same(steps: list[Step], spec: UniqueSpec) -> None:
    """Every micro-batch makes a new processor over the state: a restart in between changes nothing more."""
    told = UniqueSpec(spec.time, spec.keys or spec.ids, spec.ids, spec.within, spec.keep, Explicit(), ahead=spec.ahead)
    assert_same(on_spark(told, steps), by_law(told, steps))


def _step(telling: Telling, step: Step) -> list[Record]:
    if step.end:
        return telling.end()
    if not step.records:
        return telling.advance(step.watermark, step.clock)
    batch = pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=SCHEMA)
    return telling.add_batch(batch, watermark=step.watermark, clock=step.clock)


def _opened(left: Sequence[Any], kind: str) -> list[dict[str, Any]]:
    return [row for one in left if one["kind"] == kind for row in opened(one["payload"]).to_pylist()]
