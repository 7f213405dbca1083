"""Joins by window against their oracle: the same rows in the same order, the same letters and counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.join.counting import CountJoinOracle
from fanlight.testing.oracle.join.session import SessionJoinOracle
from fanlight.testing.oracle.join.sides import JoinOutcome
from fanlight.testing.oracle.join.window import WindowJoinOracle
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS
from fanlight.testing.strategies.window_joins import WindowJoinPipeline, counted_pipelines, pipelines

from .join_runs import assert_same, embedded, rows_of
from .laws import halved


def by_law(pipeline: WindowJoinPipeline) -> list[JoinOutcome]:
    """What the oracle gives, step by step."""
    match = pipeline.spec.match
    law = CountJoinOracle if match.counting else SessionJoinOracle if match.session else WindowJoinOracle
    oracle = law(pipeline.spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names, pipeline.condition)
    return [oracle.step(step) for step in pipeline.steps]


@pytest.mark.parametrize("how", JoinType, ids=lambda how: how.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 7)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    how: JoinType, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(pipelines(how))
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(pipelines(of_sessions=True), st.sets(st.integers(0, 7)))
def test_sessions_of_both_sides_leave_as_the_oracle_says(pipeline: WindowJoinPipeline, restarts: set[int]) -> None:
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@pytest.mark.parametrize("how", JoinType, ids=lambda how: how.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 7)))
def test_windows_that_count_leave_as_the_oracle_says(how: JoinType, data: st.DataObject, restarts: set[int]) -> None:
    pipeline = data.draw(counted_pipelines(how))
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(pipelines() | counted_pipelines())
def test_when_rows_leave_changes_nothing_in_which_rows_leave(pipeline: WindowJoinPipeline) -> None:
    eager, on_close = (
        rows_of(embedded(replace(pipeline.spec, mode=emits), pipeline.steps))
        for emits in (EmissionMode.EAGER, EmissionMode.ON_CLOSE)
    )
    assert eager == on_close


@halved
@given(pipelines() | pipelines(of_sessions=True))
def test_nothing_that_leaves_is_late_for_the_next_stage(pipeline: WindowJoinPipeline) -> None:
    """The time of a row is the last instant of its window."""
    before = START_OF_TIME
    for outcome in by_law(pipeline):
        assert all(row["window"]["end"] - 1 >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME
