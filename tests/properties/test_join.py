"""Joins against their oracle: the same rows in the same order, the same letters and counts, whatever comes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.testing.oracle.join import JoinOutcome
from fanlight.testing.script import same
from fanlight.testing.strategies.joins import JoinPipeline, pipelines

from .join_runs import by_law, embedded, rows_of
from .laws import halved


def assert_same(ours: list[JoinOutcome], law: list[JoinOutcome]) -> None:
    for step, (mine, right) in enumerate(zip(ours, law, strict=True)):
        assert same(mine.rows, right.rows), f"step {step}\nengine: {mine.rows}\noracle: {right.rows}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        assert (mine.left, mine.right) == (right.left, right.right), f"step {step}"
        assert mine.watermark == right.watermark, f"step {step}"


def letters(outcome: JoinOutcome) -> list[str]:
    """The letters of a step, reason by reason: which reason is looked for first is no part of the law."""
    return sorted(repr((reason.value, sorted(record.items()))) for reason, record in outcome.dead_letters)


@pytest.mark.parametrize("how", JoinType, ids=lambda how: how.value)
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 7)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    how: JoinType, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(pipelines(how))
    assert_same(embedded(pipeline.spec, pipeline.steps, restarts), by_law(pipeline))


@halved
@given(pipelines())
def test_when_rows_leave_changes_nothing_in_which_rows_leave(pipeline: JoinPipeline) -> None:
    eager, on_close = (
        rows_of(embedded(replace(pipeline.spec, mode=emits), pipeline.steps))
        for emits in (EmissionMode.EAGER, EmissionMode.ON_CLOSE)
    )
    assert eager == on_close


@halved
@given(pipelines())
def test_nothing_that_leaves_is_late_for_the_next_stage(pipeline: JoinPipeline) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    spec, before = pipeline.spec, START_OF_TIME
    time = "ts" if spec.stamp == "left" else "ts_p"
    for outcome in by_law(pipeline):
        if spec.stamp is not None:
            assert all(row[time] >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME
