"""Hypothesis strategies for as-of joins: every direction, with a tolerance and without, and tables with deletes."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.changes import Changes
from fanlight.model.join.as_of import TYPES, AsOf, AsOfJoinSpec
from fanlight.model.join.interval import FARTHEST
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Combine, Several
from fanlight.testing.oracle.join.sides import Holds, JoinStep
from fanlight.testing.strategies.joins import CONDITIONS, KEYS, LEFT, RIGHT, scripts, strategies


@dataclass(frozen=True, slots=True)
class AsOfPipeline:
    """What to run, and what to run it on."""

    spec: AsOfJoinSpec
    condition: Holds | None
    steps: list[JoinStep]


def as_of_matches() -> SearchStrategy[AsOf]:
    """Every direction; without a tolerance, the last right row of each key is kept."""
    limited = st.builds(
        AsOf, st.integers(0, 9).map(Duration), st.sampled_from(["backward", "forward", "nearest"]), st.booleans()
    )
    unlimited = st.builds(AsOf, st.just(FARTHEST), st.just("backward"), st.booleans())
    return st.one_of(limited, limited, unlimited)


@st.composite
def as_of_pipelines(draw: DrawFn, *kinds: JoinType) -> AsOfPipeline:
    """An as-of join, of one of these types if any are said, and a script for it."""
    left, right = draw(st.sampled_from(KEYS))
    match = draw(as_of_matches())
    condition = None if match.is_unlimited else draw(st.sampled_from(CONDITIONS))
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    ready = draw(st.one_of(st.just(()), st.just(()), st.integers(-2, 12).map(lambda time: ((RIGHT, time),))))
    versions = None
    if match.direction == "backward" and condition is None:
        versions = draw(st.sampled_from([None, None, Changes("op"), Changes("op", words=(("x", "-D"),))]))
    spec = AsOfJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, left),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, right, versions),
        match,
        draw(st.sampled_from(kinds or TYPES)),
        None if condition is None else Where(condition[0]),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        Several(((RIGHT, draw(strategies())), (LEFT, draw(strategies()))), Combine.MIN, idle, ready=ready),
        draw(st.none() | st.integers(0, 20).map(Duration)),
    )
    return AsOfPipeline(spec, None if condition is None else condition[1], draw(scripts(spec)))
