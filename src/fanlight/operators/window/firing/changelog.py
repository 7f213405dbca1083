"""The rows of panes that fire: their order, operations and retractions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode_in_order
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.window.firing.outside import Outside
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.rows import Firings


def in_order(starts: Ints, ends: Ints, keys: list[pa.Array]) -> Ints:
    """The order of output rows: by window end, window start, key.

    Where few windows end together, only the keys of these are compared.
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
    table: PaneTable,
    bounds: tuple[Ints, Ints],
    before: list[pa.Array],
    values: list[pa.Array],
    times: Ints,
    timing: Ints,
    is_last: Bools,
    accumulation: Accumulation,
    is_empty: Bools | None = None,
) -> Firings:
    """The output rows of these panes; every one of them fires.

    A retraction carries the values in `before` and comes directly before the row that replaces it. The row that deletes
    a pane which `is_empty` carries them too.
    """
    starts, ends = bounds
    order = in_order(starts, ends, table.keys)
    again = table.stands[order]
    retracts = again & (accumulation is Accumulation.RETRACTING)
    if is_empty is not None:
        retracts &= ~is_empty[order]
    rows, ops = order, np.full(len(order), Op.INSERT, np.int64)
    if again.any():
        rows = np.repeat(order, 1 + retracts)
        taking_back = np.zeros(len(rows), np.bool_)
        taking_back[(np.cumsum(1 + retracts) - 2)[retracts]] = True
        renewing = table.stands[rows] & (accumulation is not Accumulation.DISCARDING)
        ops = np.where(taking_back, Op.RETRACT, np.where(renewing, Op.UPDATE, Op.INSERT))
        if is_empty is not None:
            ops[is_empty[rows]] = Op.DELETE
            taking_back |= is_empty[rows]
    places = pa.array(rows)
    if again.any() and taking_back.any():
        sides = pa.array(np.where(taking_back, rows, len(table) + rows))
        columns = [pa.concat_arrays(pair).take(sides) for pair in zip(before, values, strict=True)]
    else:
        columns = [column.take(places) for column in values]
    return Firings(
        starts[rows],
        ends[rows],
        [column.take(places) for column in table.keys],
        columns,
        ops,
        timing[rows],
        table.state["index"][rows],
        np.where(timing[rows] == Timing.EARLY, -1, table.state["revision"][rows]),
        is_last[rows],
        times[rows],
        Outside(len(rows)),
    )
