"""Joins against their oracle: the same rows in the same order, the same letters and counts, whatever comes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.strategies.joins import JoinPipeline, pipelines

from .join_runs import assert_same, by_law, embedded, rows_of
from .laws import halved


def micros(time: Any) -> int:
    return time if isinstance(time, int) else (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize("how", JoinType, ids=lambda how: how.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 7)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    how: JoinType, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(pipelines(how))
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(pipelines(modes=[EmissionMode.EAGER]))
def test_when_rows_leave_changes_nothing_in_which_rows_leave(pipeline: JoinPipeline) -> None:
    spec = replace(pipeline.spec, semantics=replace(pipeline.spec.semantics, takes_late=False))
    eager, on_close, retracting = (
        rows_of(embedded(replace(spec, mode=emits), pipeline.steps))
        for emits in (EmissionMode.EAGER, EmissionMode.ON_CLOSE, EmissionMode.RETRACTING)
    )
    assert eager == on_close == retracting


@halved
@given(pipelines(modes=[EmissionMode.RETRACTING]))
def test_what_is_left_of_changes_is_what_leaves_on_close(pipeline: JoinPipeline) -> None:
    retracting, on_close = (
        rows_of(embedded(replace(pipeline.spec, mode=emits), pipeline.steps))
        for emits in (EmissionMode.RETRACTING, EmissionMode.ON_CLOSE)
    )
    assert retracting == on_close


@halved
@given(pipelines())
def test_nothing_that_leaves_is_late_for_the_next_stage(pipeline: JoinPipeline) -> None:
    """A row is judged by the watermark that was handed on before its step; records that are taken late leave late."""
    assume(not pipeline.spec.semantics.takes_late)
    spec, before = pipeline.spec, START_OF_TIME
    time = {"left": "ts", "right": "ts_p"}.get(spec.stamp or "", "joined_time")
    for outcome in by_law(pipeline):
        if spec.stamp is not None:
            assert all(micros(row[time]) >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME
