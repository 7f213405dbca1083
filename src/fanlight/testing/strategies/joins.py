"""Hypothesis strategies for joins: specs of every type, and scripts for both sides.

Times and bounds are a few microseconds, so that ends of intervals, watermarks and rows meet often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.join.interval import MODES, Interval, IntervalJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several
from fanlight.testing.oracle.join import Holds, JoinStep
from fanlight.testing.script import Record

LEFT, RIGHT = "o", "p"
LEFT_COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "s": pa.string(), "f": pa.float64(), "v": pa.int64()})
RIGHT_COLUMNS = pa.schema({"ts": pa.int64(), "k": pa.int64(), "s": pa.string(), "g": pa.float64(), "w": pa.int64()})

KEYS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((), ()),
    (("k",), ("k",)),
    (("s",), ("s",)),
    (("f",), ("g",)),
    (("v",), ("k",)),
    (("k", "s"), ("k", "s")),
    (("s", "f"), ("s", "g")),
)
"""None, whole numbers, text, floats, other names, two columns."""

CONDITIONS: tuple[tuple[Any, Holds] | None, ...] = (
    None,
    None,
    (pc.field("v") < pc.field("w"), lambda left, right: _less(left["v"], right["w"])),
    (pc.field("o.k") == pc.field("p.k"), lambda left, right: _same(left["k"], right["k"])),
    (pc.field("ts_p") != pc.field("ts"), lambda left, right: left["ts"] != right["ts"]),
)
"""A condition as the engine reads it, and as the oracle does."""


@dataclass(frozen=True, slots=True)
class JoinPipeline:
    """What to run, and what to run it on."""

    spec: IntervalJoinSpec
    condition: Holds | None
    steps: list[JoinStep]


def near() -> SearchStrategy[int]:
    """Times that are close together."""
    return st.integers(-5, 24)


def times() -> SearchStrategy[int | None]:
    """Times of records, few of which cannot be read."""
    return st.one_of(near(), near(), near(), near(), st.sampled_from([None, EARLIEST, LATEST, LATEST + 1]))


def records(columns: pa.Schema, when: SearchStrategy[Any] | None = None) -> SearchStrategy[Record]:
    """Records of one side, with few keys, some of which are null."""
    small = st.sampled_from([None, 0, 1])
    kinds = {
        pa.int64(): small,
        pa.string(): st.sampled_from([None, "", "a", "b"]),
        pa.float64(): st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    }
    values = {field.name: kinds[field.type] for field in columns if field.name != "ts"}
    return st.fixed_dictionaries({"ts": times() if when is None else when, **values})


def matches() -> SearchStrategy[Interval]:
    """Intervals around the left row, before it, after it, and no longer than an instant."""
    bounds = st.integers(-7, 7)

    def ordered(pair: tuple[int, int], closed: Any) -> Interval:
        lower, upper = sorted(pair)
        opens = (closed in ("right", "neither")) + (closed in ("left", "neither"))
        return Interval(Duration(lower), Duration(max(upper, lower + opens)), closed)

    closed = st.sampled_from(["both", "both", "left", "right", "neither"])
    return st.builds(ordered, st.tuples(bounds, bounds), closed)


def strategies() -> SearchStrategy[Any]:
    """Told, or following the records of the side."""
    delays = st.integers(0, 8).map(Duration)
    return st.one_of(st.just(Explicit()), st.builds(BoundedDisorder, delays))


@st.composite
def specs(draw: DrawFn, kinds: Sequence[JoinType] = tuple(JoinType)) -> tuple[IntervalJoinSpec, Holds | None]:
    """A join of one of these types, and what its condition says."""
    left, right = draw(st.sampled_from(KEYS))
    how = draw(st.sampled_from(kinds))
    condition = draw(st.sampled_from(CONDITIONS))
    kinds_of_stamp: dict[JoinType, list[Any]] = {
        JoinType.RIGHT: ["right"],
        JoinType.FULL: [None],
        JoinType.INNER: ["left", "right"],
    }
    idle = draw(st.one_of(st.none(), st.none(), st.integers(1, 3).map(Duration)))
    spec = IntervalJoinSpec(
        Side(LEFT, "ts", TimeUnit.MICROSECONDS, left),
        Side(RIGHT, "ts", TimeUnit.MICROSECONDS, right),
        draw(matches()),
        how,
        draw(st.sampled_from(MODES)),
        None if condition is None else Where(condition[0]),
        draw(st.sampled_from([0, 0, 0, 2, 5]).map(Duration)),
        draw(st.sampled_from(kinds_of_stamp.get(how, ["left"]))),
        Several(((RIGHT, draw(strategies())), (LEFT, draw(strategies()))), Combine.MIN, idle),
        draw(st.none() | st.integers(0, 20).map(Duration)),
    )
    return spec, None if condition is None else condition[1]


@st.composite
def scripts(draw: DrawFn) -> list[JoinStep]:
    """Steps of any sort, and the end; a side may end before."""
    watermarks = st.one_of(st.none(), st.none(), near(), near(), near(), st.just(END_OF_TIME))
    step = st.builds(
        JoinStep,
        st.lists(records(LEFT_COLUMNS), max_size=6).map(tuple),
        st.lists(records(RIGHT_COLUMNS), max_size=6).map(tuple),
        watermarks,
        watermarks,
        st.none() | st.integers(0, 8),
    )
    return [*draw(st.lists(step, max_size=7)), JoinStep(end=True)]


@st.composite
def pipelines(draw: DrawFn, *kinds: JoinType) -> JoinPipeline:
    """A join, of one of these types if any are said, and a script for it."""
    return JoinPipeline(*draw(specs(kinds or tuple(JoinType))), draw(scripts()))


def _less(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one < other


def _same(one: int | None, other: int | None) -> bool | None:
    return None if one is None or other is None else one == other
