"""Windows merged from the rows of their slices: written out where that is little, over two stacks where it is much."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.apart import Sliced
from fanlight.kernels.fold import Fold, Partials
from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import KeyCodes, encode_in_order
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.slicing import Slicing, spread
from fanlight.kernels.sliding import SliceRows, Stacks, by_slice

_FEW = 1 << 16
"""Up to this many (row, window) pairs are written out and merged at once."""
_A_WINDOW = 1 << 9
"""So are this many for each window: asking the stacks for one costs as much."""

Panes = tuple[Ints, list[pa.Array], Partials]
"""Windows, keys and partials of panes, ordered by window and key."""


def merge_windows(slicing: Slicing, fold: Fold, windows: Ints, rows: Sliced) -> Panes:
    """The panes of these windows, which ascend, merged from rows of their slices.

    Rows may come in any order, a (slice, key) more than once, and a slice may belong to none of the windows.
    """
    found = encode_in_order(rows.keys, len(rows))
    if not is_sparse(slicing, windows, rows.slices):
        return _over_stacks(slicing, fold, windows, rows, found)
    low, high = _places(slicing, windows, rows.slices)
    source, place = spread(low, high - 1)
    pairs = Pairs.of(place, found.codes[source], found.count)
    outer, codes, merged = pairs.settle(fold.merge(rows.partials.take(source), pairs.groups))
    return windows[outer], found.take(codes), merged


def is_sparse(slicing: Slicing, windows: Ints, slices: Ints) -> bool:
    """Whether rows of these slices, written out for each of these windows, are few for the windows there are."""
    low, high = _places(slicing, windows, slices)
    return int(np.maximum(high - low, 0).sum()) <= max(_FEW, _A_WINDOW * len(windows))


def in_any(slicing: Slicing, windows: Ints, slices: Ints) -> Bools:
    """Which slices belong to one of these windows, which ascend."""
    low, high = _places(slicing, windows, slices)
    return low < high


def _places(slicing: Slicing, windows: Ints, slices: Ints) -> tuple[Ints, Ints]:
    """Where in `windows` those of each slice begin, and where they end."""
    first, last = slicing.windows(slices)
    return np.searchsorted(windows, first, "left"), np.searchsorted(windows, last, "right")


def _over_stacks(slicing: Slicing, fold: Fold, windows: Ints, rows: Sliced, found: KeyCodes) -> Panes:
    pairs = Pairs.of(rows.slices, found.codes, found.count)
    slices = by_slice(*pairs.settle(fold.merge(rows.partials, pairs.groups)))
    owners, codes, merged = served(slicing, fold, windows, slices, found.count)
    return owners, found.take(codes), merged


def served(
    slicing: Slicing, fold: Fold, windows: Ints, slices: dict[int, SliceRows], count: int
) -> tuple[Ints, Ints, Partials]:
    """The panes of these windows, which ascend, over two stacks: window, key code (of `count`), content."""
    stacks = Stacks(fold, count, slides=slicing.slides)
    stacks.load(slices)
    codes, parts = [], []
    for window in windows.tolist():
        value = stacks.serve(*slicing.members(window))
        here = np.flatnonzero(value.rows)
        codes.append(here)
        parts.append(value.take(here))
    owners = np.repeat(windows, [len(here) for here in codes])
    return owners, np.concatenate(codes), Partials.concat(parts)
