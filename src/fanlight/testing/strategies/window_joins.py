"""Hypothesis strategies for joins by window: specs of every type over several kinds, with scripts for both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.window import MODES, SameWindow, WindowJoinSpec
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Combine, Several
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.oracle.join.sides import Holds, JoinStep
from fanlight.testing.strategies.joins import CONDITIONS, KEYS, LEFT, RIGHT, scripts, strategies


@dataclass(frozen=True, slots=True)
class WindowJoinPipeline:
    """What to run, and what to run it on."""

    spec: WindowJoinSpec
    condition: Holds | None
    steps: list[JoinStep]


def sessions() -> SearchStrategy[WindowKind]:
    """Sessions of the records of both sides."""
    return st.builds(Session, st.integers(1, 7).map(Duration), touching=st.booleans())


def counted_pipelines(*types: JoinType) -> SearchStrategy[WindowJoinPipeline]:
    """A join by windows that count, of one of these types if any are said, and a script for it."""

    def counting(pipeline: WindowJoinPipeline, size: int, kept: Retention) -> WindowJoinPipeline:
        match = SameWindow(Counting(size, size))
        spec = replace(pipeline.spec, match=match, retention=kept, lateness=Duration(0))
        return replace(pipeline, spec=spec)

    kept = st.builds(Retention, st.one_of(st.integers(0, 9).map(Duration), st.just(Duration.FOREVER)))
    return st.builds(counting, pipelines(*types), st.integers(1, 4), kept)


def kinds() -> SearchStrategy[WindowKind]:
    """Windows side by side, overlapping, with gaps between them, and such as start together."""
    lengths, offsets = st.integers(1, 9).map(Duration), st.integers(-3, 12).map(Duration)
    return st.one_of(
        st.builds(Tumbling, lengths, offsets),
        st.builds(Hopping, lengths, lengths, offsets, gaps=st.just(True)),
        st.builds(_cumulating, st.integers(1, 4), st.integers(1, 4), offsets),
    )


def _cumulating(step: int, steps: int, offset: Duration) -> Cumulating:
    return Cumulating(Duration(step * steps), Duration(step), offset)


@st.composite
def specs(
    draw: DrawFn, types: Sequence[JoinType] = tuple(JoinType), *, of_sessions: bool = False
) -> tuple[WindowJoinSpec, Holds | None]:
    """A join by window of one of these types, and what its condition says; sessions are by keys, and leave on close."""
    left, right = draw(st.sampled_from(KEYS[1:] if of_sessions else KEYS))
    condition = draw(st.sampled_from(CONDITIONS))
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    spec = WindowJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, left),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, right),
        SameWindow(draw(sessions() if of_sessions else kinds())),
        draw(st.sampled_from(types)),
        EmissionMode.ON_CLOSE if of_sessions else draw(st.sampled_from(MODES)),
        None if condition is None else Where(condition[0]),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        Several(((RIGHT, draw(strategies())), (LEFT, draw(strategies()))), Combine.MIN, idle),
        draw(st.none() | st.integers(0, 20).map(Duration)),
    )
    return spec, None if condition is None else condition[1]


@st.composite
def pipelines(draw: DrawFn, *types: JoinType, of_sessions: bool = False) -> WindowJoinPipeline:
    """A join by window, of one of these types if any are said, and a script for it."""
    spec, condition = draw(specs(types or tuple(JoinType), of_sessions=of_sessions))
    return WindowJoinPipeline(spec, condition, draw(scripts(spec)))
