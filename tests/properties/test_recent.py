"""The temporal filter against its oracle: the same rows in order, the same letters and counts, on both engines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.sort.sorting import Sorting

from fanlight.model.changes import Changes
from fanlight.model.reason import Reason
from fanlight.model.recent import RecentSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.testing.oracle.recent import RecentOracle
from fanlight.testing.oracle.sort import SortOutcome
from fanlight.testing.script import Record, Step, same
from fanlight.testing.strategies.changes import changelogs, net

from .laws import halved

ROWS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "f": pa.float64(), "s": pa.string()})

near = st.integers(-5, 30)
"""Times close together, so that the watermark passes many of them by just `within`."""
times = st.one_of(near, near, near, st.none(), st.sampled_from([EARLIEST, LATEST, LATEST + 1]))
records = st.fixed_dictionaries(
    {
        "ts": times,
        "k": st.none() | st.integers(0, 1),
        "f": st.sampled_from([None, 0.0, -0.0, float("nan")]),
        "s": st.sampled_from(["", "a"]),
    }
)
bundles = st.lists(records, max_size=12).map(tuple)
clocks = st.none() | st.integers(0, 20)
strategies = st.one_of(
    st.just(Explicit()),
    st.builds(BoundedDisorder, st.integers(0, 8).map(Duration), st.booleans()),
)
lengths = st.one_of(st.integers(1, 12).map(Duration), st.just(Duration(LATEST - EARLIEST)))


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """Steps of any sort, and the end."""
    steps = draw(st.lists(st.builds(Step, bundles, st.none() | near, clocks), max_size=8))
    return [*steps, Step(end=True)]


@st.composite
def specs(draw: st.DrawFn) -> RecentSpec:
    ahead = draw(st.none() | st.integers(0, 20).map(Duration))
    return RecentSpec("ts", draw(st.sampled_from([(), ("k",)])), draw(lengths), draw(strategies), ahead=ahead)


@st.composite
def of_changes(draw: st.DrawFn) -> tuple[RecentSpec, list[Step]]:
    """A spec over changes, and a consistent changelog; rows are told apart by all columns, or by a number of theirs."""
    unique = draw(st.sampled_from([(), ("n",)]))
    script = draw(scripts())
    if unique:
        numbers = iter(range(1_000))
        script = [replace(one, records=tuple({**row, "n": next(numbers)} for row in one.records)) for one in script]
    changes = Changes("op", unique, consistent=True)
    return replace(draw(specs()), watermark=Explicit(), changes=changes), draw(changelogs(script))


def by_law(spec: RecentSpec, steps: Sequence[Step]) -> list[SortOutcome]:
    oracle = RecentOracle(spec)
    outcomes = [oracle.step(step) for step in steps]
    assert not oracle.shown
    return outcomes


def schema_of(spec: RecentSpec) -> pa.Schema:
    if spec.changes is None:
        return ROWS
    numbered = [pa.field("n", pa.int64())] if spec.changes.unique else []
    return pa.schema([*ROWS, *numbered, pa.field("op", pa.string())])


def embedded(spec: RecentSpec, steps: Sequence[Step], restore_before: Collection[int] = ()) -> list[SortOutcome]:
    showing, outcomes, schema = Sorting(spec, schema_of(spec)), [], schema_of(spec)
    for place, step in enumerate(steps):
        if place in restore_before:
            showing = showing.restore()
        received, accepted, _, dead = showing.counted
        if step.end:
            rows = showing.end()
        elif step.records:
            batch = pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=schema)
            rows = showing.add_batch(batch, watermark=step.watermark, clock=step.clock)
        else:
            rows = showing.advance(step.watermark, step.clock)
        letters, counted = tuple(showing.take_letters()), showing.counted
        assert counted[3] - dead == len(letters)
        handed_on = spec.hands_on(showing.shard.watermark)
        counts = counted[0] - received, counted[1] - accepted
        outcomes.append(SortOutcome(tuple(rows), letters, *counts, handed_on))
    assert showing.waiting == 0
    return outcomes


def on_spark(spec: RecentSpec, steps: Sequence[Step]) -> list[SortOutcome]:
    """The processor that runs on Spark, a micro-batch a step."""
    schema = schema_of(spec)
    tester, outcomes = ShardTester(spec, schema), []
    told = clock = START_OF_TIME
    for step in steps:
        told = max(told, START_OF_TIME if step.watermark is None else step.watermark)
        clock = max(clock, START_OF_TIME if step.clock is None else step.clock)
        came = [pa.RecordBatch.from_pylist([*map(dict, step.records)], schema=schema)] if step.records else []
        left = tester.batch(came, watermark=told, clock=clock, ends=step.end)
        (account,) = (row for row in left if row["kind"] == ACCOUNT)
        letters = tuple((Reason(one["reason"]), one["record"]) for one in _opened(left, LETTER))
        counts = account["received"], account["accepted"]
        outcomes.append(SortOutcome(tuple(_opened(left, FIRING)), letters, *counts, tester.shard().watermark))
    return outcomes


def assert_same(ours: list[SortOutcome], law: list[SortOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert (mine.records_in, mine.accepted) == (right.records_in, right.accepted), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def letters(outcome: SortOutcome) -> list[str]:
    """The letters of a step, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in outcome.dead_letters)


@halved
@given(scripts(), specs(), st.sets(st.integers(0, 8)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    steps: list[Step], spec: RecentSpec, restarts: set[int]
) -> None:
    assert_same(embedded(spec, steps, restarts), by_law(spec, steps))


@halved
@given(of_changes(), st.sets(st.integers(0, 8)))
def test_changes_leave_as_the_oracle_says_with_restarts_in_between(
    drawn: tuple[RecentSpec, list[Step]], restarts: set[int]
) -> None:
    spec, steps = drawn
    assert_same(embedded(spec, steps, restarts), by_law(spec, steps))


@halved
@given(scripts(), specs())
def test_net_rows_are_those_that_the_watermark_has_not_passed_too_far(steps: list[Step], spec: RecentSpec) -> None:
    """After every step but the end; and every row that is taken back was there (`net` would not find it)."""
    came: list[Step] = []
    accepted: list[Record] = []
    for outcome in by_law(spec, steps)[:-1]:
        came.append(Step(records=outcome.rows))
        accepted += [row for row in outcome.rows if row["op"] == "+I"]
        left = [row for row in accepted if row["ts"] + spec.within.micros >= outcome.watermark]
        assert same(net(came), [{name: row[name] for name in ROWS.names} for row in left])


@halved
@given(scripts(), specs())
def test_what_leaves_is_no_further_behind_than_the_next_stage_is_told(steps: list[Step], spec: RecentSpec) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    before = START_OF_TIME
    for outcome in by_law(spec, steps):
        assert all(row["ts"] + spec.continuation.lateness.micros >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME


@halved
@given(st.lists(records, max_size=40), st.sets(st.integers(1, 39)), specs(), near)
def test_bundles_cut_anywhere_leave_the_same_rows_where_nothing_is_late(
    came: list[Record], cuts: set[int], spec: RecentSpec, watermark: int
) -> None:
    told = replace(spec, watermark=Explicit())
    bounds = [0, *sorted(cut for cut in cuts if cut < len(came)), len(came)]
    pieces = [Step(tuple(came[start:end])) for start, end in pairwise(bounds)]
    whole, cut = ([*steps, Step(watermark=watermark), Step(end=True)] for steps in ([Step(tuple(came))], pieces))
    left = [net([Step(outcome.rows) for outcome in embedded(told, steps)]) for steps in (whole, cut)]
    assert same(*left)


@pytest.mark.slow
@halved
@given(scripts(), specs(), of_changes())
def test_the_processor_on_spark_gives_the_same(
    steps: list[Step], spec: RecentSpec, drawn: tuple[RecentSpec, list[Step]]
) -> None:
    """Without a limit by the clock, which counts milliseconds there."""
    for declared, script in ((replace(spec, watermark=Explicit()), steps), drawn):
        told = replace(declared, ahead=None)
        assert_same(on_spark(told, script), by_law(told, script))


def _opened(left: Sequence[Any], kind: str) -> list[dict[str, Any]]:
    return [row for one in left if one["kind"] == kind for row in opened(one["payload"]).to_pylist()]
