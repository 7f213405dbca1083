"""Values over frames, for rows that lie side by side: aggregates merged, and the row that a function takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.over.frames import excluded_rows, frame_rows
from fanlight.kernels.over.row_at import NOWHERE, ValuedRows, last_row, nth_row, row_after, row_before
from fanlight.kernels.over.stretches import Stretches
from fanlight.model.over.functions import ColumnFunction, Lag, LastValue, Lead, NthValue
from fanlight.model.over.spec import Computed, within
from fanlight.operators.over.plan import FrameAggregates

Misfits = list[dict[int, Any]]
"""For each aggregate, by row: the exact text of a value that its type cannot hold."""


def merged_frames(one: FrameAggregates, partials: Partials, at: Ints, low: Ints, high: Ints) -> Partials:
    """The partial of the frame `[low, high)` of each row, without the row itself where the frame leaves it out."""
    aggregation = one.aggregation
    if not one.frame.excludes_current:
        return ranges(aggregation, partials, low, high)
    before = ranges(aggregation, partials, low, np.minimum(at, high))
    return aggregation.combine(before, ranges(aggregation, partials, np.maximum(at + 1, low), high))


def frame_values(
    one: FrameAggregates, partials: Partials, at: Ints, low: Ints, high: Ints
) -> tuple[list[pa.Array], Misfits]:
    """The value of each aggregate over the frame of each row, and what does not fit.

    Where rows that lie side by side have one frame, as those of a session have, it is computed once.
    """
    spread = None if one.frame.excludes_current else _shared(low, high)
    if spread is None:
        merged = merged_frames(one, partials, at, low, high)
        return one.aggregation.finish(merged), one.aggregation.outside(merged)
    firsts, of = spread
    merged = ranges(one.aggregation, partials, low[firsts], high[firsts])
    places = pa.array(of)
    misfits = [
        {int(row): text for group, text in each.items() for row in np.flatnonzero(of == group)}
        for each in one.aggregation.outside(merged)
    ]
    return [values.take(places) for values in one.aggregation.finish(merged)], misfits


def row_of(computed: Computed, function: ColumnFunction, rows: Stretches, at: Ints, values: pa.Array) -> Ints:
    """The row that a function takes its value from, for each row in `at`; -1 where there is none."""
    valued = ValuedRows.of(values, ignore_nulls=function.ignore_nulls)
    match function:
        case Lag(offset=offset):
            return row_before(at, offset, rows.starts[at], valued)
        case Lead(offset=offset):
            found, most = row_after(at, offset, rows.ends[at], valued), within(function)
            if most is None:
                return found
            return np.where(rows.times[found] - rows.times[at] > most, NOWHERE, found)
    low, high = frame_rows(computed.frame, rows, at)
    excluded = excluded_rows(computed.frame, at, low, high)
    if isinstance(function, NthValue):
        return nth_row(function.offset, at, low, high, excluded=excluded, valued=valued)
    assert isinstance(function, LastValue)
    return last_row(at, low, high, excluded=excluded, valued=valued)


def _shared(low: Ints, high: Ints) -> tuple[Ints, Ints] | None:
    """The first row of each run of rows with one frame, and the run of each row; None if runs are short."""
    heads = np.ones(len(low), np.bool_)
    heads[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    firsts = np.flatnonzero(heads)
    return None if 2 * len(firsts) > len(low) else (firsts, np.cumsum(heads) - 1)
