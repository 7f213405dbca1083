"""Sort against its oracle: the same rows in the same order, the same letters and counts, on both engines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.sort.sorting import Sorting

from fanlight.model.reason import Reason
from fanlight.model.sort import SortSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.testing.oracle.sort import SortOracle, SortOutcome
from fanlight.testing.script import DeadLetter, Record, Step, same

from .laws import halved

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "f": pa.float64(), "s": pa.string()})

near = st.integers(-5, 20)
"""Times close together, so that many are equal."""
times = st.one_of(near, near, st.none(), st.sampled_from([EARLIEST, LATEST, LATEST + 1]))
records = st.fixed_dictionaries(
    {
        "ts": times,
        "k": st.none() | st.integers(0, 2),
        "f": st.none() | st.sampled_from([0.0, -0.0, 1.5, float("nan")]),
        "s": st.sampled_from(["", "a", "b"]),
    }
)
bundles = st.lists(records, max_size=12).map(tuple)
watermarks = st.none() | near
clocks = st.none() | st.integers(0, 3)
"""Milliseconds, the smallest step of Spark's clock: 0 to 3,000 microseconds."""
strategies = st.one_of(
    st.just(Explicit()),
    st.builds(BoundedDisorder, st.integers(0, 8).map(Duration), st.booleans()),
)
limits = st.none() | st.integers(0, 20).map(Duration)
ties = st.lists(st.sampled_from(["k", "f", "s"]), max_size=2, unique=True).map(tuple)


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """Steps of any sort, and the end."""
    steps = draw(st.lists(st.builds(Step, bundles, watermarks, clocks.map(micros)), max_size=8))
    return [*steps, Step(end=True)]


def micros(clock: int | None) -> int | None:
    return None if clock is None else 1_000 * clock


def by_law(spec: SortSpec, steps: Sequence[Step]) -> list[SortOutcome]:
    assert isinstance(spec.watermark, Explicit | BoundedDisorder)
    ahead = None if spec.ahead is None else spec.ahead.micros
    oracle = SortOracle(spec.time, spec.ties, spec.watermark, ahead)
    return [oracle.step(step) for step in steps]


def embedded(spec: SortSpec, steps: Sequence[Step], restore_before: Collection[int]) -> list[SortOutcome]:
    sorting, outcomes = Sorting(spec, SCHEMA), []
    for place, step in enumerate(steps):
        if place in restore_before:
            sorting = sorting.restore()
        received, accepted, *_ = sorting.counted
        rows = _step(sorting, step)
        counted = sorting.counted[0] - received, sorting.counted[1] - accepted
        letters = tuple(sorting.take_letters())
        outcomes.append(SortOutcome(tuple(rows), letters, *counted, sorting.shard.watermark))
    assert sorting.waiting == 0
    return outcomes


def on_spark(spec: SortSpec, steps: Sequence[Step]) -> list[SortOutcome]:
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
        counted = account["received"], account["accepted"]
        outcomes.append(SortOutcome(tuple(_opened(left, FIRING)), letters, *counted, tester.shard().watermark))
    return outcomes


def assert_same(ours: list[SortOutcome], law: list[SortOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert (mine.records_in, mine.accepted) == (right.records_in, right.accepted), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def letters(outcome: SortOutcome) -> list[str]:
    """The letters of a step, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(repr(_plain(letter)) for letter in outcome.dead_letters)


@halved
@given(scripts(), strategies, limits, ties, st.sets(st.integers(0, 8)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    steps: list[Step],
    strategy: Explicit | BoundedDisorder,
    ahead: Duration | None,
    ties: tuple[str, ...],
    restarts: set[int],
) -> None:
    spec = SortSpec("ts", ties=ties, watermark=strategy, ahead=ahead)
    assert_same(embedded(spec, steps, restarts), by_law(spec, steps))


@pytest.mark.slow
@halved
@given(scripts(), limits, ties)
def test_the_processor_on_spark_gives_the_same(
    steps: list[Step], ahead: Duration | None, ties: tuple[str, ...]
) -> None:
    """Every micro-batch makes a new processor over the state: a restart in between changes nothing more."""
    spec = SortSpec("ts", keys=("k",), ties=ties, watermark=Explicit(), ahead=ahead)
    assert_same(on_spark(spec, steps), by_law(spec, steps))


def _step(sorting: Sorting, step: Step) -> list[Record]:
    if step.end:
        return sorting.end()
    if not step.records:
        return sorting.advance(step.watermark, step.clock)
    batch = pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=SCHEMA)
    return sorting.add_batch(batch, watermark=step.watermark, clock=step.clock)


def _opened(left: Sequence[Any], kind: str) -> list[dict[str, Any]]:
    return [row for one in left if one["kind"] == kind for row in opened(one["payload"]).to_pylist()]


def _plain(letter: DeadLetter) -> tuple[str, list[tuple[str, Any]]]:
    return letter[0].value, sorted(letter[1].items())
