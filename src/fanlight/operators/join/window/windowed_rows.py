"""Rows with their windows: a row of a join is stored once, and stands here once for each window it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.join.window import WINDOW
from fanlight.operators.accounting import MOMENT, moments
from fanlight.operators.join.plan import RowPairs
from fanlight.operators.join.side_log import SideRows

_BOUNDS = [pa.field("start", MOMENT), pa.field("end", MOMENT)]
WINDOW_FIELD = pa.field(WINDOW, pa.struct(_BOUNDS))
"""The column of a joined row that says its window."""


class Bounds(Protocol):
    """What knows where windows start and end; they are numbered by their ends, then by their starts."""

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        """Where windows start and end."""


@dataclass(frozen=True, slots=True)
class RowWindows:
    """Every (row, window): the place of the row, the number of the window. By row, then by window."""

    rows: Ints
    windows: Ints

    @staticmethod
    def once(rows: Ints, windows: Ints) -> RowWindows:
        """These rows in these windows, each (row, window) once."""
        order = np.lexsort([windows, rows])
        rows, windows = rows[order], windows[order]
        is_first = np.append(np.ones(len(rows[:1]), np.bool_), (rows[1:] != rows[:-1]) | (windows[1:] != windows[:-1]))
        return RowWindows(rows[is_first], windows[is_first])

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, mask: Bools) -> RowWindows:
        """Those that `mask` keeps."""
        return RowWindows(self.rows[mask], self.windows[mask])

    def places(self, rows: Ints, windows: Ints) -> Ints:
        """The places here of these rows in these windows; all of them are here, and a row's windows have no gap."""
        if not len(rows):
            return rows
        first = np.searchsorted(self.rows, np.arange(int(self.rows[-1]) + 1))[rows]
        return first + windows - self.windows[first]


@dataclass(frozen=True, slots=True)
class WindowPairs:
    """Rows of both sides, side by side in a window; a row without a partner has -1 there."""

    pairs: RowPairs
    windows: Ints

    def __len__(self) -> int:
        return len(self.windows)

    def take(self, places: Ints) -> WindowPairs:
        """These pairs, in this order."""
        return WindowPairs(self.pairs.take(places), self.windows[places])


def in_order(rows: SideRows) -> SideRows:
    """The same rows by key, then by time, then as they came, whatever chunks they come from."""
    order = sort_by_key_time(rows.codes, rows.times)
    places, came = order.order, rows.came[order.order]
    tied = (order.codes[1:] == order.codes[:-1]) & (order.times[1:] == order.times[:-1])
    if (tied & (came[1:] < came[:-1])).any():
        return rows.take(np.lexsort([rows.came, rows.times, rows.codes]))
    return rows if (places[1:] > places[:-1]).all() else rows.take(places)


def ranks(rows: SideRows) -> Ints:
    """The place of each row in the order of times, then of arrival."""
    order = sort_by_key_time(rows.times, rows.came).order
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


def window_column(bounds: Bounds, windows: Ints) -> pa.Array:
    """Windows as structs of start and end."""
    return pa.StructArray.from_arrays([moments(side) for side in bounds.bounds(windows)], fields=_BOUNDS)
