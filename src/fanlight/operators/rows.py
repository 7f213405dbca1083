"""From panes that fire to the rows that leave: order, operations, retractions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import encode_in_order
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.firing import Firings
from fanlight.operators.frame import Frame


def in_order(starts: Ints, ends: Ints, keys: list[pa.Array]) -> Ints:
    """The order rows leave in: by window end, window start, key.

    Where few windows end together, only the keys of those are looked at.
    """
    order, _, ordered = sort_by_key_time(np.zeros(len(ends), np.int64), ends)
    follows = np.concatenate([[False], ordered[1:] == ordered[:-1]])
    tied = np.flatnonzero(follows | np.append(follows[1:], False))
    if 2 * len(tied) > len(ends):
        return np.lexsort((encode_in_order(keys, len(ends)).codes, starts, ends))
    if len(tied):
        rows = order[tied]
        codes = encode_in_order([column.take(pa.array(rows)) for column in keys], len(rows)).codes
        order[tied] = rows[np.lexsort((codes, starts[rows], ends[rows]))]
    return order


def firing_rows(
    frame: Frame,
    bounds: tuple[Ints, Ints],
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
    starts, ends = bounds
    order = in_order(starts, ends, frame.keys)
    again = frame.state["index"][order] > 0
    retracts = again & (accumulation is Accumulation.RETRACTING)
    rows, ops = order, np.full(len(order), Op.INSERT, np.int64)
    if again.any():
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
        starts[rows],
        ends[rows],
        columns,
        ops,
        timing[rows],
        frame.state["index"][rows],
        np.where(timing[rows] == Timing.EARLY, -1, frame.state["revision"][rows]),
        is_last[rows],
        times[rows],
    )
