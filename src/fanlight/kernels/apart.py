"""Grouping by slice and key where both are many: each large slice by itself.

    rows by slice    7 7 7 7 7 7 | 8 8 8 8 8 | 9 9 9 9 9 9
    grouped by key   ─────────── | ───────── | ───────────

What is made of one slice then stays in the processor's cache; what is made of all of them together does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Fold, Partials
from fanlight.kernels.groups import Bools, Ints, order_of, ranked, runs
from fanlight.kernels.keys import KeyCodes, densify, encode_loosely
from fanlight.kernels.pairs import Pairs

_LARGE = 1 << 14
"""From this many rows a slice on, slices are grouped one by one."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """Partials with their slices and keys, ordered by slice."""

    slices: Ints
    keys: list[pa.Array]
    partials: Partials

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def distinct(self) -> Ints:
        """The slices that occur, ascending."""
        return self.slices[runs(self.slices)[:-1]]

    def part(self, start: int, end: int) -> Sliced:
        """The rows from `start` up to `end`, as views."""
        keys = [column.slice(start, end - start) for column in self.keys]
        return Sliced(self.slices[start:end], keys, self.partials.part(start, end))

    def between(self, first: int, last: int) -> Sliced:
        """The rows of the slices from `first` to `last`, as views."""
        start, end = np.searchsorted(self.slices, [first, last + 1]).tolist()
        return self.part(start, end)

    def take(self, rows: Ints) -> Sliced:
        """The rows at `rows`, in that order."""
        places = pa.array(rows)
        return Sliced(self.slices[rows], [column.take(places) for column in self.keys], self.partials.take(rows))

    @staticmethod
    def concat(parts: list[Sliced]) -> Sliced:
        """The rows of several, one after the other."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return Sliced(
            np.concatenate([part.slices for part in parts]),
            [pa.concat_arrays(same) for same in zip(*(part.keys for part in parts), strict=True)],
            Partials.concat([part.partials for part in parts]),
        )


def partial_apart(
    fold: Fold, values: list[pa.Array | None], times: Ints, slices: Ints, found: KeyCodes, counted: Bools | None
) -> Sliced:
    """Rows to partials, one for each slice and key that occur; in each slice the codes ascend."""
    if found.count < _LARGE or len(slices) < _LARGE * _distinct(slices):
        pairs = Pairs.of(slices, found.codes, found.count)
        outer, codes, partials = pairs.settle(fold.partial(values, times, pairs.groups, counted))
        return Sliced(outer, found.take(codes), partials)
    order = order_of(slices)
    ordered = slices[order]
    distinct = {id(column): column for column in values if column is not None}
    parts = []
    for part in _parts(ordered):
        rows = order[part]
        places = pa.array(rows)
        taken = {place: column.take(places) for place, column in distinct.items()}
        own = [taken.get(id(column)) for column in values]
        few, present = densify(found.codes[rows], found.count)
        pairs = Pairs.of(ordered[part], few, len(present))
        partials = fold.partial(own, times[rows], pairs.groups, None if counted is None else counted[rows])
        outer, codes, partials = pairs.settle(partials)
        parts.append(Sliced(outer, found.take(present[codes]), partials))
    return Sliced.concat(parts)


def merge_apart(fold: Fold, rows: Sliced) -> Sliced:
    """Partials to one for each slice and key; in each slice the keys ascend, null last."""
    parts = [rows.part(0, 0)]
    for part in _parts(rows.slices):
        own = rows.part(part.start, part.stop)
        found = encode_loosely(own.keys, len(own), in_order=True)
        pairs = Pairs.of(own.slices, found.codes, found.count)
        outer, codes, merged = pairs.settle(fold.merge(own.partials, pairs.groups))
        parts.append(Sliced(outer, found.take(codes), merged))
    return Sliced.concat(parts)


def _distinct(slices: Ints) -> int:
    """How many slices there are, or 1 if there are none."""
    return max(1, int(np.count_nonzero(np.bincount(ranked(slices)[0]))))


def _parts(slices: Ints) -> Iterator[slice]:
    """Rows that are ordered by slice: each slice if they are large, all of them if not."""
    bounds = runs(slices)
    if len(slices) < _LARGE * (len(bounds) - 1):
        bounds = bounds[[0, -1]]
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield slice(start, end)
