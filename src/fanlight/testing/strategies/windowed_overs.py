"""Hypothesis strategies for `over` inside windows: windows of every kind that gather whole records, then new columns.

A record has the columns of `strategies.scripts`, and itself as a struct in `row`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.over import functions as fn
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import within
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.semantics import Closing
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtExpiry
from fanlight.testing.script import Record, Step
from fanlight.testing.strategies.kinds import Kind
from fanlight.testing.strategies.overs import (
    AGGREGATES_OVER,
    FunctionOver,
    orders,
    range_frames,
    row_frames,
    row_functions,
    session_frames,
)
from fanlight.testing.strategies.specs import among

WindowedOverPipeline = tuple[tuple[WindowSpec, WindowedOverSpec], list[Step]]
"""Both stages, and what to run them on."""

COLUMNS = ("ts", "k", "v", "f", "b")
"""The columns of a record, in their order."""

ROWS = "rows"
"""The column in which windows say their records."""


def partition_frames(*, by_time: bool) -> SearchStrategy[Frame]:
    """Frames of rows and peers, to the ends of partitions; where these go by time, frames of lengths too."""
    first = st.sampled_from([False, False, True])
    ends = st.sampled_from([Duration.FOREVER, Duration(0)])
    peers: SearchStrategy[Frame] = st.builds(RangeFrame, first, ends, ends)
    to_the_end: SearchStrategy[Frame] = st.builds(RowFrame, first, st.none() | st.integers(-2, 2), st.none())
    plain = among(row_frames(), to_the_end, peers)
    return among(plain, range_frames(), session_frames()) if by_time else plain


def partition_functions() -> SearchStrategy[RowFunction | Aggregate]:
    """Every function of rows, those that need a whole partition too, and aggregates."""
    whole: SearchStrategy[RowFunction | Aggregate] = st.one_of(
        st.sampled_from([fn.percent_rank(), fn.cume_dist()]), st.builds(fn.ntile, st.integers(1, 4))
    )
    return among(st.sampled_from([*AGGREGATES_OVER, *BATCHES]), row_functions(), whole)


def _keys_in_order(table: pa.Table) -> list[Any]:
    return table.column("k").to_pylist() if table.num_rows else []


def _rows(table: pa.Table) -> int:
    return int(table.num_rows)


BATCHES: tuple[Aggregate, ...] = (agg.batch(_keys_in_order, pa.list_(pa.string()), "k"), agg.batch(_rows, pa.int64()))
"""Functions of complete rows: of a column in its order, of whole records."""


def needs_lengths(one: FunctionOver) -> bool:
    """Whether a column looks at how far times are apart."""
    frame, function = one
    by_length = isinstance(frame, SessionFrame) or (isinstance(frame, RangeFrame) and frame.has_lengths)
    return by_length or within(function) is not None


@st.composite
def windowed_overs(draw: DrawFn, gathering: WindowSpec) -> WindowedOverSpec:
    """What follows windows that gather whole records."""
    order = draw(among(st.just(()), orders()))
    by_time = not order and gathering.window.domain is TimeDomain.EVENT
    one = st.tuples(partition_frames(by_time=by_time), partition_functions())
    columns = draw(st.lists(one.filter(lambda one: by_time or not needs_lengths(one)), min_size=1, max_size=3))
    return WindowedOverSpec(
        gathering.window,
        tuple((f"c{place}", *one) for place, one in enumerate(columns)),
        ROWS,
        "ts",
        gathering.unit,
        gathering.keys,
        order,
        gathering.tick,
    )


def gathering(spec: WindowSpec) -> WindowSpec:
    """The same windows, which say their records once, when they have expired."""
    return replace(
        spec,
        aggregates=((ROWS, agg.list("row", by_arrival=True)),),
        trigger=AtExpiry(),
        accumulation=Accumulation.ACCUMULATING,
        updated_only=False,
        retention=None,
        firing_time=FiringTime.END,
        watermark=Explicit(),
        semantics=replace(spec.semantics, closing=Closing.IF_NEW),
    )


def with_whole_rows(steps: Sequence[Step]) -> list[Step]:
    """The steps with every record beside itself, as one struct."""
    return [replace(step, records=tuple(_whole(record) for record in step.records)) for step in steps]


def _whole(record: Record) -> Record:
    return {**record, "row": {name: record[name] for name in COLUMNS}}


@st.composite
def windowed_over_pipelines(draw: DrawFn, kind: Kind) -> WindowedOverPipeline:
    """Both stages over windows of a kind, and a script for them."""
    drawn, steps = draw(kind.pipelines())
    first = gathering(drawn)
    quiet = [replace(step, signal=None, finish=False) for step in steps]
    return (first, draw(windowed_overs(first))), with_whole_rows(quiet)
