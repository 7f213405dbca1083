"""Hypothesis strategies for `over`: new columns over frames of every kind, and scripts for them.

A record has the columns of `strategies.scripts`. Durations are a few microseconds, so that the ends of frames, gaps
that are forgotten and watermarks meet often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.over import functions as fn
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.over.functions import Lag, Lead, NthValue, RowFunction
from fanlight.model.over.spec import Computed, OrderBy, OverSpec, within
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.script import Step
from fanlight.testing.strategies.scripts import UNUSABLE, scripts
from fanlight.testing.strategies.specs import AGGREGATES, COLUMNS, among, durations

OverPipeline = tuple[OverSpec, list[Step]]
"""What to run, and what to run it on."""

FunctionOver = tuple[Frame, RowFunction | Aggregate]
"""What a new column is, besides its name."""

FORGETS = 12
"""The longest `forget` that is not for ever, in microseconds."""

AGGREGATES_OVER: tuple[Aggregate, ...] = (
    *(one for one in AGGREGATES if not one.heeds_arrival),
    *(agg.distinct("v"), agg.mode("v"), agg.join_text("k", ", "), agg.sorted("f"), agg.histogram("v", [0, 4])),
    *(agg.arg_max("k", by="v"), agg.arg_min("v", by="f"), agg.weighted_avg("f", "v")),
    agg.composite(n=agg.count(), most=agg.max("v")),
)
"""Those whose value follows from the rows of a frame, and not from the order in which they came."""

EXTREME = (EARLIEST, LATEST)
"""The first time that a record can have, and the last."""

_QUIET = WindowSpec("ts", Tumbling(Duration(1)), (("n", agg.count()),))
"""Scripts are drawn for a spec that waits for no signal."""


def row_frames(*, unbounded: bool = True, following: bool = True) -> SearchStrategy[Frame]:
    """A few rows before, or all of them, and none or a few after; or all on one side of the row, or none at all."""
    before = among(st.integers(0, 3), st.integers(-3, 3))
    after = among(st.just(0), st.integers(-3, 2)) if following else st.integers(-3, 0)
    return st.builds(
        RowFrame,
        st.sampled_from([False, False, True]),
        among(before, before, st.none()) if unbounded else before,
        after,
    )


def range_frames(*, unbounded: bool = True, following: bool = True) -> SearchStrategy[Frame]:
    """A few microseconds before, or all of them, and none or a few after; or all on one side of the row, or none."""
    before = among(durations(0, 12), durations(-6, 12))
    after = among(st.just(Duration(0)), durations(-8, 6)) if following else durations(-8, 0)
    return st.builds(
        RangeFrame,
        st.sampled_from([False, False, True]),
        among(before, before, st.just(Duration.FOREVER)) if unbounded else before,
        after,
    )


def session_frames() -> SearchStrategy[Frame]:
    """Sessions with a gap of a few microseconds."""
    return st.builds(SessionFrame, st.sampled_from([False, False, True]), durations(1, 6))


def row_functions(columns: Sequence[str] = COLUMNS) -> SearchStrategy[RowFunction]:
    """Any function that is no aggregate, over any of the columns."""
    column, skips = st.sampled_from(columns), st.booleans()
    return st.one_of(
        st.sampled_from([fn.row_number(), fn.rank(), fn.dense_rank()]),
        st.builds(fn.lag, column, st.integers(0, 3), ignore_nulls=skips),
        st.builds(fn.lead, column, st.integers(0, 2), ignore_nulls=skips, within=st.none() | durations(0, 6)),
        st.builds(fn.nth_value, column, st.integers(1, 3), ignore_nulls=skips),
        st.builds(fn.first_value, column, ignore_nulls=skips),
        st.builds(fn.last_value, column, ignore_nulls=skips),
    )


def computed(frames: SearchStrategy[Frame] | None = None) -> SearchStrategy[FunctionOver]:
    """A frame, and a function that can be computed of it without keeping all rows."""
    some = among(row_frames(), range_frames(), session_frames()) if frames is None else frames
    one: SearchStrategy[RowFunction | Aggregate] = st.sampled_from(AGGREGATES_OVER)
    functions = among(one, one, row_functions())
    return st.tuples(some, functions).filter(can_be_kept)


def orders(*, settled: bool = False) -> SearchStrategy[tuple[OrderBy, ...]]:
    """Columns that order rows of one time; `settled`: all of them, so that only equal rows are left as they came."""
    names = st.permutations(["v", "k", "f", "b"]) if settled else st.lists(st.sampled_from("vkf"), max_size=2)
    return names.flatmap(
        lambda chosen: st.tuples(*(st.builds(OrderBy, st.just(name), st.booleans()) for name in dict.fromkeys(chosen)))
    )


@st.composite
def overs(
    draw: DrawFn,
    /,
    *,
    most: int = 3,
    frames: SearchStrategy[Frame] | None = None,
    columns: SearchStrategy[FunctionOver] | None = None,
    **fields: Any,
) -> OverSpec:
    """Any spec over the common record shape; a field may be given as a value or as a strategy of its own."""
    chosen = draw(st.lists(computed(frames) if columns is None else columns, min_size=1, max_size=most))
    named = tuple((f"c{place}", *one) for place, one in enumerate(chosen))
    free: dict[str, SearchStrategy[Any]] = {
        "keys": st.sampled_from([("k",), ("k",), (), ("k", "b")]),
        "order": orders(),
        "forget": forgets(needed=any(needs_forget(Computed(*one)) for one in named)),
        "watermark": st.just(Explicit()) | st.builds(BoundedDisorder, durations(0, 8), st.booleans()),
        "ahead": st.sampled_from([None, None, Duration(15)]),
    }
    given = {name: value if isinstance(value, SearchStrategy) else st.just(value) for name, value in fields.items()}
    return OverSpec("ts", named, **draw(st.fixed_dictionaries({**free, **given})))


def forgets(*, needed: bool) -> SearchStrategy[Duration | None]:
    """How long a key is remembered: not at all where that is allowed, a little, or for ever."""
    some = among(durations(0, FORGETS), durations(0, FORGETS), st.just(Duration.FOREVER))
    return some if needed else st.none() | some


@st.composite
def over_pipelines(draw: DrawFn, /, *, calm: bool = False, **fields: Any) -> OverPipeline:
    """A spec and a script for it; `fields` as in `overs`.

    In a calm one no record is refused, if only the caller says the watermark, and says none.
    """
    spec = draw(overs(**fields))
    odd = draw(st.sampled_from([UNUSABLE, UNUSABLE, (*UNUSABLE, *EXTREME)]))
    return spec, draw(scripts(_QUIET, calm=calm, unusable=odd))


def needs_forget(one: Computed) -> bool:
    """Whether a new column keeps something for every key, whatever the times."""
    is_counted = isinstance(one.function, RowFunction) and (
        (isinstance(one.function, Lag | Lead) and within(one.function) is None) or not one.function.columns
    )
    return is_counted or one.frame.is_unbounded or one.frame.rows_before > 0 or one.frame.rows_after > 0


def can_be_kept(one: FunctionOver) -> bool:
    """Whether a function can be computed of a frame without keeping all rows."""
    frame, function = one
    if not frame.is_unbounded:
        return True
    return not (isinstance(function, NthValue) or (isinstance(function, Aggregate) and function.needs_messages))
