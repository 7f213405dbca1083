"""Merge windows from the rows of their slices: directly where rows are few, over two stacks where they are many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Aggregation, Partials, SlicedPartials
from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes, Pairs, encode_in_order
from fanlight.kernels.slicing.slicing import Slicing, spread
from fanlight.kernels.slicing.two_stacks import SliceRows, Stacks, by_slice

_FEW = 1 << 16
"""Up to this many (row, window) pairs are merged directly."""
_A_WINDOW = 1 << 9
"""So are this many for each window: a window costs as much over the stacks."""

Panes = tuple[Ints, list[pa.Array], Partials]
"""Windows, keys and partials of panes, ordered by window and key."""


def merge_windows(slicing: Slicing, aggregation: Aggregation, windows: Ints, rows: SlicedPartials) -> Panes:
    """The panes of these windows (ascending), merged from the rows of their slices.

    Rows may come in any order. A (slice, key) may occur more than once, and a slice may belong to none of the windows.
    """
    found = encode_in_order(rows.keys, len(rows))
    if not is_sparse(slicing, windows, rows.slices):
        return _over_stacks(slicing, aggregation, windows, rows, found)
    low, high = _places(slicing, windows, rows.slices)
    source, place = spread(low, high - 1)
    pairs = Pairs.of(place, found.codes[source], found.count)
    outer, codes, merged = pairs.settle(aggregation.merge(rows.partials.take(source), pairs.groups))
    return windows[outer], found.take(codes), merged


def is_sparse(slicing: Slicing, windows: Ints, slices: Ints) -> bool:
    """Whether a copy of each row for each of its windows makes few rows, compared with the number of windows."""
    low, high = _places(slicing, windows, slices)
    return int(np.maximum(high - low, 0).sum()) <= max(_FEW, _A_WINDOW * len(windows))


def in_any(slicing: Slicing, windows: Ints, slices: Ints) -> Bools:
    """Which slices belong to one of these windows (ascending)."""
    low, high = _places(slicing, windows, slices)
    return low < high


def _places(slicing: Slicing, windows: Ints, slices: Ints) -> tuple[Ints, Ints]:
    """Where in `windows` those of each slice begin, and where they end."""
    first, last = slicing.windows(slices)
    return np.searchsorted(windows, first, "left"), np.searchsorted(windows, last, "right")


def _over_stacks(
    slicing: Slicing, aggregation: Aggregation, windows: Ints, rows: SlicedPartials, found: KeyCodes
) -> Panes:
    pairs = Pairs.of(rows.slices, found.codes, found.count)
    slices = by_slice(*pairs.settle(aggregation.merge(rows.partials, pairs.groups)))
    owners, codes, merged = served(slicing, aggregation, windows, slices, found.count)
    return owners, found.take(codes), merged


def served(
    slicing: Slicing, aggregation: Aggregation, windows: Ints, slices: dict[int, SliceRows], count: int
) -> tuple[Ints, Ints, Partials]:
    """The panes of these windows (ascending), merged over two stacks: window, key code (of `count`), content."""
    stacks = Stacks(aggregation, count, slides=slicing.slides)
    stacks.load(slices)
    codes, parts = [], []
    for window in windows.tolist():
        value = stacks.serve(*slicing.members(window))
        here = np.flatnonzero(value.rows)
        codes.append(here)
        parts.append(value.take(here))
    owners = np.repeat(windows, [len(here) for here in codes])
    return owners, np.concatenate(codes), Partials.concat(parts)
