"""Hypothesis strategies for the modes of `over`: rows that leave as they come, and rows that are kept up to date."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model.aggregates import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.frame import Frame, RangeFrame
from fanlight.model.over.functions import Lead, RowFunction
from fanlight.model.over.spec import OrderBy, OverSpec, within
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.strategies.changes import OP, changelogs
from fanlight.testing.strategies.overs import (
    AGGREGATES_OVER,
    FunctionOver,
    OverPipeline,
    computed,
    orders,
    over_pipelines,
    range_frames,
    row_frames,
    row_functions,
    session_frames,
)
from fanlight.testing.strategies.specs import among, durations

LONGEST = 15
"""The longest retention that is not for ever, in microseconds."""

retentions = among(durations(0, LONGEST), durations(0, LONGEST), st.just(Duration.FOREVER))


def before_only() -> SearchStrategy[FunctionOver]:
    """A frame and a function of it that look at no row after their own."""
    frames = among(row_frames(following=False), range_frames(following=False))
    return computed(frames).filter(lambda one: not isinstance(one[1], Lead))


def eager_pipelines(**fields: Any) -> SearchStrategy[OverPipeline]:
    """A spec whose rows leave as they come, and a script for it."""
    return over_pipelines(columns=before_only(), mode=EmissionMode.EAGER, **fields)


@st.composite
def retracting_pipelines(draw: DrawFn, /, *, changes: bool | None = None, **fields: Any) -> OverPipeline:
    """A spec whose rows are kept up to date in the order of their times, and a script for it, of changes or of rows."""
    takes = draw(st.booleans()) if changes is None else changes
    said = {"mode": EmissionMode.RETRACTING, "retention": retentions, "changes": CHANGES if takes else None}
    spec, steps = draw(over_pipelines(**{**said, **fields}))
    return spec, draw(changelogs(steps)) if takes else steps


@st.composite
def reordered_pipelines(draw: DrawFn, /, *, changes: bool | None = None, **fields: Any) -> OverPipeline:
    """The same in the order of any columns."""
    by = draw(other_orders())
    measured = [one.column for one in by] == ["ts"]
    said = {"columns": in_any_order(measured=measured), "by": by, "order": (), "forget": None}
    return draw(retracting_pipelines(changes=changes, **{**said, **fields}))


def other_orders() -> SearchStrategy[tuple[OrderBy, ...]]:
    """Columns to order rows by, the time among them or alone."""
    alone = st.builds(lambda descending: (OrderBy("ts", descending),), st.booleans())
    timed = st.builds(lambda first, down: (*first, OrderBy("ts", down)), orders(), st.booleans())
    return among(orders().filter(bool), timed, alone)


def in_any_order(*, measured: bool) -> SearchStrategy[FunctionOver]:
    """A frame and a function where all rows are kept; only `measured` frames ask how far times are apart."""
    lengths = st.sampled_from([Duration(0), Duration.FOREVER])
    peers: SearchStrategy[Frame] = st.builds(RangeFrame, st.booleans(), lengths)
    frames = among(row_frames(), range_frames(), session_frames()) if measured else among(row_frames(), peers)
    one: SearchStrategy[RowFunction | Aggregate] = st.sampled_from(AGGREGATES_OVER)
    others = row_functions().filter(lambda one: measured or within(one) is None)
    functions = among(one, one, others)
    return st.tuples(frames, functions).filter(lambda one: not (one[0].is_unbounded and _gathers(one[1])))


def _gathers(function: object) -> bool:
    return isinstance(function, Aggregate) and function.needs_messages


def on_close(spec: OverSpec) -> OverSpec:
    """The same over rows that leave once, when they are complete; nothing moves the watermark by itself."""
    told = {name: getattr(spec, name) for name in ("time", "computed", "keys", "order", "forget", "ahead")}
    return OverSpec(**told, watermark=Explicit())


def followed(most: int = 8) -> SearchStrategy[BoundedDisorder]:
    """A watermark that follows records."""
    return st.builds(BoundedDisorder, durations(0, most), st.booleans())


CHANGES = Changes(OP, consistent=True)
"""Changes of which every delete has its row."""
