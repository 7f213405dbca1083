"""Hypothesis strategies for joins by frames: every frame, per key and per side, read by slice and by key."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Access, Frames, Unbounded
from fanlight.model.join.interval import Interval
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Combine, Several
from fanlight.model.triggers import Every
from fanlight.model.windows.counting import Scope
from fanlight.testing.oracle.join.sides import Holds, JoinStep
from fanlight.testing.strategies.joins import CONDITIONS, KEYS, LEFT, RIGHT, scripts, strategies


@dataclass(frozen=True, slots=True)
class FramesPipeline:
    """What to run, and what to run it on."""

    spec: FramesJoinSpec
    condition: Holds | None
    steps: list[JoinStep]


def side_frames() -> SearchStrategy[Frame]:
    """A few rows, a few microseconds, or all."""
    return st.one_of(
        st.integers(1, 4).map(lambda count: RowFrame(preceding=count)),
        st.integers(0, 20).map(lambda micros: RangeFrame(preceding=Duration(micros))),
        st.just(Unbounded()),
    )


@st.composite
def frames_pipelines(draw: DrawFn, *, updates: bool = True) -> FramesPipeline:
    """A join by frames, and a script for it; with `updates` some pairs wait for the clock."""
    left, right = draw(st.sampled_from([*KEYS[:3], *KEYS]))
    condition = draw(st.sampled_from([None, None, *CONDITIONS]))
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    some = draw(st.one_of(st.just(Retention()), st.integers(0, 20).map(lambda micros: Retention(Duration(micros)))))
    frames = tuple((name, draw(side_frames())) for name in (LEFT, RIGHT))
    bounds = sorted(draw(st.tuples(st.integers(-7, 7), st.integers(-7, 7))))
    within = draw(st.sampled_from([None, None, None, Interval(Duration(bounds[0]), Duration(bounds[1]))]))
    accesses = [Access.SLICE, Access.KEY, None] if left else [Access.SLICE, None]
    read = tuple((name, access) for name in (LEFT, RIGHT) if (access := draw(st.sampled_from(accesses))) is not None)
    every = st.none() | st.integers(1, 4).map(lambda micros: Every(Duration(micros)))
    grows = [not isinstance(frame, RangeFrame) for _, frame in frames]
    spec = FramesJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, left),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, right),
        Frames(frames, draw(st.sampled_from(Scope)), within, read),
        some if any(grows) else draw(st.sampled_from([None, some])),
        JoinType.INNER,
        None if condition is None else Where(condition[0]),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        draw(st.sampled_from(["left", "right", "least", "greatest"])),
        Several(((RIGHT, draw(strategies())), (LEFT, draw(strategies()))), Combine.MIN, idle),
        draw(st.none() | st.integers(0, 20).map(Duration)),
        early=draw(every) if updates else None,
        late=draw(every) if updates else None,
    )
    steps = draw(scripts(spec).filter(lambda steps: any(step.left for step in steps)))
    return FramesPipeline(spec, None if condition is None else condition[1], steps)
