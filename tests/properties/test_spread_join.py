"""Joins that are spread: all shards together give what the law says of all records in one, and count each record once.

No Spark: the packers that send rows on Spark, and the shards that take them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import TYPES
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Combine, Explicit, Several
from fanlight.testing.oracle.join.aggregated import AggregatedJoinOracle
from fanlight.testing.oracle.join.as_of import AsOfJoinOracle
from fanlight.testing.strategies.as_of import AsOfPipeline, as_of_pipelines
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS, JoinPipeline, scripts, specs

from .join_runs import by_law
from .laws import brief, halved
from .spread_runs import SpreadRun, assert_together, spread_over
from .test_aggregated_join import SOME

NEAR = 10**6
"""Rows further apart match in intervals without an end only, which cannot be spread."""


@st.composite
def spread_pipelines(draw: DrawFn, how: JoinType) -> JoinPipeline:
    """An interval join that is spread, and a script for it."""
    drawn, condition = draw(specs([how]))
    assume(drawn.match.most - drawn.match.least < NEAR)
    left, right = (replace(side, changes=None) for side in (drawn.left, drawn.right))
    spec = replace(drawn, left=left, right=right, watermark=followed(drawn), spread=width(draw, drawn))
    return JoinPipeline(spec, condition, draw(scripts(spec)))


def followed(spec: SpreadJoinSpec) -> Several:
    """The watermark of a join as it may be where it is spread: no side is idle that is told its own."""
    watermark = spec.watermark
    assert isinstance(watermark, Several)
    is_told = any(isinstance(strategy, Explicit) for _, strategy in watermark.inputs)
    return replace(watermark, idle=None) if is_told else watermark


def width(draw: DrawFn, spec: SpreadJoinSpec) -> Duration:
    """How wide spans are: often no wider than matches may be apart."""
    least = max(spec.match.most - spec.match.least, 1)
    return Duration(draw(st.just(least) | st.integers(least, least + 12)))


@pytest.mark.parametrize("how", [how for how in JoinType if how is not JoinType.FULL], ids=lambda how: how.value)
@halved
@given(data=st.data(), shards=st.integers(1, 4))
def test_all_shards_together_give_what_the_law_says(how: JoinType, data: st.DataObject, shards: int) -> None:
    pipeline = data.draw(spread_pipelines(how))
    assert_together(spread_over(pipeline.spec, shards, pipeline.steps), by_law(pipeline))


@brief
@given(data=st.data(), how=st.sampled_from([how for how in JoinType if how is not JoinType.FULL]))
def test_what_shards_keep_without_copies_is_what_one_keeps(data: st.DataObject, how: JoinType) -> None:
    pipeline = data.draw(spread_pipelines(how))
    one, several = SpreadRun(pipeline.spec, 1), SpreadRun(pipeline.spec, 3)
    for step in pipeline.steps:
        one.step(step)
        several.step(step)
        assert several.kept() == one.kept()


@st.composite
def spread_as_of_pipelines(draw: DrawFn, how: JoinType) -> AsOfPipeline:
    """An as-of join that is spread, and a script for it."""
    drawn = draw(as_of_pipelines(how))
    assume(not drawn.spec.match.is_unlimited)
    right = replace(drawn.spec.right, changes=None)
    spec = replace(drawn.spec, right=right, watermark=followed(drawn.spec), spread=width(draw, drawn.spec))
    return AsOfPipeline(spec, drawn.condition, draw(scripts(spec)))


@pytest.mark.parametrize("how", TYPES, ids=lambda how: how.value)
@halved
@given(data=st.data(), shards=st.integers(1, 4))
def test_as_of_joins_too(how: JoinType, data: st.DataObject, shards: int) -> None:
    pipeline = data.draw(spread_as_of_pipelines(how))
    oracle = AsOfJoinOracle(pipeline.spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names, pipeline.condition)
    assert_together(spread_over(pipeline.spec, shards, pipeline.steps), [oracle.step(one) for one in pipeline.steps])


@pytest.mark.parametrize("how", [JoinType.INNER, JoinType.LEFT], ids=lambda how: how.value)
@halved
@given(data=st.data(), shards=st.integers(1, 4))
def test_aggregates_of_matches_too(how: JoinType, data: st.DataObject, shards: int) -> None:
    drawn = data.draw(spread_pipelines(how)).spec
    about = how, drawn.lateness, drawn.watermark, drawn.ahead
    assume(not (isinstance(drawn.watermark, Several) and drawn.watermark.combine is Combine.MAX))
    spec = AggregatedJoinSpec(drawn.left, drawn.right, drawn.match, SOME, *about, spread=drawn.spread)
    steps = data.draw(scripts(spec))
    oracle = AggregatedJoinOracle(spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names)
    assert_together(spread_over(spec, shards, steps), [oracle.step(one) for one in steps])
