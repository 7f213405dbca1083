"""Joins by frames against their oracle: the same pairs in the same steps, however windows are read and cut."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.join.frames import Access
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.join.frames import FramesJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome
from fanlight.testing.strategies.frames_joins import FramesPipeline, frames_pipelines
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS

from .join_runs import assert_same, embedded, rows_of
from .laws import halved


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
