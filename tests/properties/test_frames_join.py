"""Joins by frames against their oracle: the same pairs in the same steps, however windows are read and cut."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Access, Frames, Unbounded
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.sides import Side
from fanlight.model.retention import retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several
from fanlight.model.windows.counting import Scope
from fanlight.testing.oracle.join.frames import FramesJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome
from fanlight.testing.script import Record
from fanlight.testing.strategies.frames_joins import FramesPipeline, frames_pipelines
from fanlight.testing.strategies.joins import KEYS, LEFT, LEFT_COLUMNS, RIGHT, RIGHT_COLUMNS, near, records

from .join_runs import assert_same, embedded, rows_of, told
from .laws import halved
from .test_join_duckdb import DELAY, bundles


def by_law(pipeline: FramesPipeline) -> list[JoinOutcome]:
    """What the oracle gives, step by step."""
    oracle = FramesJoinOracle(pipeline.spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names, pipeline.condition)
    return [oracle.step(step) for step in pipeline.steps]


def micros(time: Any) -> int:
    return time if isinstance(time, int) else (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@halved
@given(frames_pipelines(), st.sets(st.integers(0, 7)))
def test_pairs_leave_as_the_oracle_says_with_restarts_in_between(
    pipeline: FramesPipeline, restarts: Collection[int]
) -> None:
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(frames_pipelines())
def test_how_windows_are_read_changes_nothing(pipeline: FramesPipeline) -> None:
    spec = pipeline.spec
    accesses = [Access.SLICE, Access.KEY] if spec.left.keys else [Access.SLICE]
    for how in accesses:
        read = tuple((name, how) for name, _ in spec.match.sides)
        found = embedded(replace(spec, match=replace(spec.match, read=read)), pipeline.steps)
        assert_same(found, by_law(pipeline))


@halved
@given(frames_pipelines())
def test_when_pairs_leave_changes_nothing_in_which_pairs_there_are(pipeline: FramesPipeline) -> None:
    at_once = replace(pipeline.spec, early=None, late=None)
    assert rows_of(embedded(pipeline.spec, pipeline.steps)) == rows_of(embedded(at_once, pipeline.steps))


@halved
@given(frames_pipelines(updates=False))
def test_nothing_that_leaves_is_late_for_the_next_stage(pipeline: FramesPipeline) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    before = START_OF_TIME
    time = {"left": "ts", "right": "ts_p"}.get(pipeline.spec.stamp or "", "joined_time")
    for outcome in by_law(pipeline):
        assert all(micros(row[time]) >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME


@halved
@given(
    left=st.lists(records(LEFT_COLUMNS, near()), max_size=12),
    right=st.lists(records(RIGHT_COLUMNS, near()), max_size=12),
    keys=st.sampled_from(KEYS),
    per=st.sampled_from(Scope),
    within=st.none() | st.just(Interval(Duration(-4), Duration(3))),
    sizes=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4),
)
def test_windows_that_leave_nothing_out_find_every_pair_once_however_bundles_are_cut(
    left: list[Record],
    right: list[Record],
    keys: Any,
    per: Scope,
    within: Interval | None,
    sizes: list[tuple[int, int]],
) -> None:
    """They are the equi-join then, or with `within` the interval join."""
    followed = BoundedDisorder(Duration(DELAY))
    sides = Side(LEFT, "ts", TimeUnit.MICROSECONDS, keys[0]), Side(RIGHT, "ts", TimeUnit.MICROSECONDS, keys[1])
    both = Several(((RIGHT, followed), (LEFT, followed)))
    frames = Frames(((LEFT, Unbounded()), (RIGHT, Unbounded())), per, within)
    endless = Interval(Duration.of("-forever"), Duration.FOREVER).within(retention())
    steps = bundles(left, right, [*sizes, (1, 1)])
    found = rows_of(embedded(FramesJoinSpec(*sides, frames, retention(), watermark=both), steps))
    assert found == rows_of(embedded(IntervalJoinSpec(*sides, within or endless, watermark=both), steps))


@halved
@given(frames_pipelines())
def test_a_key_finds_the_same_whoever_else_comes(pipeline: FramesPipeline) -> None:
    """So windows of keys can be in any shard, and read by themselves."""
    explicit = Several(((RIGHT, Explicit()), (LEFT, Explicit())))
    sides = (replace(side, keys=("k",)) for side in (pipeline.spec.left, pipeline.spec.right))
    left, right = sides
    spec = replace(
        pipeline.spec,
        left=left,
        right=right,
        watermark=explicit,
        match=replace(pipeline.spec.match, per=Scope.KEY),
        retention=pipeline.spec.retention or retention(),
    )

    def of_key(some: tuple[Record, ...]) -> tuple[Record, ...]:
        return tuple(record for record in some if record["k"] == 0)

    alone = [replace(step, left=of_key(step.left), right=of_key(step.right)) for step in pipeline.steps]
    whole = [[told(row) for row in outcome.rows if row["k"] == 0] for outcome in embedded(spec, pipeline.steps)]
    assert whole == [[told(row) for row in outcome.rows] for outcome in embedded(spec, alone)]
