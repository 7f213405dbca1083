"""N-way joins against their oracle, against joins of two, and against themselves in other bundles and modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, timestamp
from fanlight.model.time.watermarks import Explicit, Several
from fanlight.testing.oracle.join.n_way import NWayOutcome, NWayStep
from fanlight.testing.oracle.join.sides import JoinStep
from fanlight.testing.script import same
from fanlight.testing.strategies.n_way_joins import MODES, NWayPipeline, n_way_pipelines

from .join_runs import embedded, told
from .laws import brief, halved
from .n_way_runs import assert_same_n_way, n_way, n_way_by_law

in_each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)


@in_each_mode
@halved
@given(data=st.data(), restarts=st.sets(st.integers(0, 6)))
def test_rows_leave_as_the_oracle_says_with_restarts_in_between(
    mode: EmissionMode, data: st.DataObject, restarts: set[int]
) -> None:
    pipeline = data.draw(n_way_pipelines(modes=[mode]))
    assert_same_n_way(n_way(pipeline.spec, pipeline.steps, restarts), n_way_by_law(pipeline))


@in_each_mode
@halved
@given(data=st.data())
def test_two_inputs_are_a_join_of_two(mode: EmissionMode, data: st.DataObject) -> None:
    """Step by step: the rows in their order, the letters, the counts, the watermark."""
    pipeline = data.draw(n_way_pipelines(inputs=[2], modes=[mode]))
    spec, (of_two,) = pipeline.spec, pipeline.spec.pairs
    of_two = replace(of_two, how=spec.how, mode=mode, watermark=spec.watermark, ahead=spec.ahead)
    left, right = (side.name for side in spec.sides)
    steps = [
        JoinStep(
            step.records.get(left, ()),
            step.records.get(right, ()),
            step.watermarks.get(left),
            step.watermarks.get(right),
            step.clock,
            step.end,
        )
        for step in pipeline.steps
    ]
    for ours, other in zip(n_way(spec, pipeline.steps), embedded(of_two, steps), strict=True):
        assert same(ours.rows, other.rows)
        assert ours.counts == {left: other.left, right: other.right}
        assert ours.watermark == other.watermark


@brief
@given(n_way_pipelines(modes=[EmissionMode.EAGER]))
def test_when_rows_leave_changes_nothing_in_which_rows_leave(pipeline: NWayPipeline) -> None:
    on_close = replace(pipeline.spec, mode=EmissionMode.ON_CLOSE)
    assert counted(n_way(pipeline.spec, pipeline.steps)) == counted(n_way(on_close, pipeline.steps))


@in_each_mode
@halved
@given(data=st.data(), size=st.integers(1, 3))
def test_other_bundles_change_nothing_in_what_leaves_of_records_that_are_not_late(
    mode: EmissionMode, data: st.DataObject, size: int
) -> None:
    """All that comes is one bundle, or comes in small ones, input after input, with a delay that covers everything."""
    pipeline = data.draw(n_way_pipelines(modes=[mode]))
    spec = as_told(pipeline.spec)
    whole = [merged(pipeline.steps), NWayStep(end=True)]
    cut = [
        NWayStep({name: records[start : start + size]})
        for name, records in whole[0].records.items()
        for start in range(0, len(records), size)
    ]
    assert counted(n_way(spec, [*cut, NWayStep(end=True)])) == counted(n_way(spec, whole))


@in_each_mode
@halved
@given(data=st.data())
def test_nothing_that_leaves_is_late_for_the_next_stage(mode: EmissionMode, data: st.DataObject) -> None:
    """A row is judged by the watermark that was handed on before its step."""
    pipeline, before = data.draw(n_way_pipelines(modes=[mode])), START_OF_TIME
    for outcome in n_way_by_law(pipeline):
        assert all(timestamp(row["ts"]) >= before for row in outcome.rows)
        before = outcome.watermark
    assert before == END_OF_TIME


def as_told(spec: NWayJoinSpec) -> NWayJoinSpec:
    """The same join, whose inputs are told their watermarks: nothing is late until somebody says so."""
    return replace(spec, watermark=Several(tuple((side.name, Explicit()) for side in spec.arriving)), ahead=None)


def merged(steps: Sequence[NWayStep]) -> NWayStep:
    """All records of these steps as one."""
    names = [name for step in steps for name in step.records]
    return NWayStep({name: sum((step.records.get(name, ()) for step in steps), ()) for name in dict.fromkeys(names)})


def counted(outcomes: Sequence[NWayOutcome]) -> Counter[str]:
    """All rows of a run, in no order."""
    return Counter(told(row) for outcome in outcomes for row in outcome.rows)
