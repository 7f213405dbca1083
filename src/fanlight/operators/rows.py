"""From panes that fire to the rows that leave: order, operations, retractions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import encode_in_order
from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.firing import Firings
from fanlight.operators.frame import Frame


def in_order(windows: Ints, keys: list[pa.Array]) -> Ints:
    """The order rows leave in: by window, then key."""
    return np.lexsort((encode_in_order(keys, len(windows)).codes, windows))


def firing_rows(
    frame: Frame,
    before: list[pa.Array],
    values: list[pa.Array],
    times: Ints,
    timing: Ints,
    is_last: Bools,
    accumulation: Accumulation,
) -> Firings:
    """The rows of these panes, which all leave.

    A retraction carries what `before` says and stands directly before the row that replaces it.
    """
    order = in_order(frame.windows, frame.keys)
    again = frame.state["index"][order] > 0
    retracts = again & (accumulation is Accumulation.RETRACTING)
    rows = np.repeat(order, 1 + retracts)
    taking_back = np.zeros(len(rows), np.bool_)
    taking_back[(np.cumsum(1 + retracts) - 2)[retracts]] = True
    renewing = (frame.state["index"][rows] > 0) & (accumulation is not Accumulation.DISCARDING)
    ops = np.where(taking_back, Op.RETRACT, np.where(renewing, Op.UPDATE, Op.INSERT))
    places = pa.array(rows)
    if retracts.any():
        sides = pa.array(np.where(taking_back, rows, len(frame) + rows))
        columns = [pa.concat_arrays(pair).take(sides) for pair in zip(before, values, strict=True)]
    else:
        columns = [column.take(places) for column in values]
    return Firings(
        [column.take(places) for column in frame.keys],
        frame.windows[rows],
        columns,
        ops,
        timing[rows],
        frame.state["index"][rows],
        np.where(timing[rows] == Timing.EARLY, -1, frame.state["revision"][rows]),
        is_last[rows],
        times[rows],
    )


def changed(before: list[pa.Array], after: list[pa.Array]) -> Bools:
    """Which rows differ in a column; nulls equal nulls and NaN equals NaN."""
    differs = np.zeros(len(before[0]), np.bool_)
    for old, new in zip(before, after, strict=True):
        differs |= _column_changed(old, new)
    return differs


def _column_changed(old: pa.Array, new: pa.Array) -> Bools:
    if pa.types.is_nested(old.type):
        pairs = zip(old, new, strict=True)
        return np.array([not left.equals(right) for left, right in pairs], np.bool_)
    same = pc.fill_null(pc.equal(old, new), False)
    same = pc.or_(same, pc.and_(pc.is_null(old), pc.is_null(new)))
    if pa.types.is_floating(old.type):
        nans = pc.and_(pc.fill_null(pc.is_nan(old), False), pc.fill_null(pc.is_nan(new), False))
        same = pc.or_(same, nans)
    differs: Bools = ~same.to_numpy(zero_copy_only=False)
    return differs
