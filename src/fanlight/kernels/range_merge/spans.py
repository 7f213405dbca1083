"""Ranges of rows, grouped by the height at which two neighbouring blocks hold them.

A range of more than one row has a height h at which it begins in one block of 2**h rows and ends in the next: h is the
highest bit in which its first and its last row differ. The least h with 2**h >= its length may be lower and also do:
then it is used. So the length of the longest range bounds the heights, not the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fanlight.kernels.grouping.groups import Groups, Ints
from fanlight.kernels.range_merge.scans import Scans
from fanlight.kernels.routes import ROUTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALONE = -1
"""The height of ranges that are one row."""


@dataclass(frozen=True, slots=True)
class SpanPart:
    """The ranges of one height: `places` are their numbers."""

    height: int
    places: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True, slots=True)
class Spans:
    """Ranges of `rows` rows from `first` to `last`, both inclusive, so that none is empty."""

    rows: int
    first: Ints
    last: Ints
    lengths: Ints
    few: Ints
    """The places of low ranges too few to climb for."""
    parts: tuple[SpanPart, ...]
    """The others, by height, lowest first."""

    @classmethod
    def of(cls, first: Ints, last: Ints, rows: int) -> Spans:
        """The ranges, grouped by height."""
        lengths = last - first
        heights = np.minimum(_bits(first ^ last) - np.int8(1), _bits(lengths))
        lengths += 1
        budget = rows // ROUTES.get().row_by_row
        few, parts = [np.zeros(0, np.int64)], []
        for height in range(int(heights.min()), int(heights.max()) + 1):
            places = np.flatnonzero(heights == height)
            # A range is at most twice as long as the blocks that hold it.
            budget -= len(places) << (height + 1)
            if height > ALONE and budget >= 0:
                few.append(places)
            elif len(places):
                parts.append(SpanPart(height, places, first[places], last[places]))
        return cls(rows, first, last, lengths, np.concatenate(few), tuple(parts))

    def __len__(self) -> int:
        return len(self.first)

    @property
    def longest(self) -> int:
        """How many rows the longest range has."""
        return int(self.lengths.max(initial=0))

    def added(self, column: Ints) -> Ints:
        """The sum of the column over each range, modulo 2**64: exact wherever the true sum is in int64."""
        if column[0] == 1 and (column.strides == (0,) or (column == 1).all()):
            return self.lengths
        sums = np.zeros(len(column) + 1, np.int64)
        np.cumsum(column, out=sums[1:])
        return sums[1:][self.last] - sums[self.first]

    def reduced(self, column: NDArray[Any], ufunc: np.ufunc) -> NDArray[Any]:
        """The column merged over each range by a commutative and associative `ufunc`; floats are never subtracted."""
        merged = np.empty(len(self), column.dtype)
        # Infinities of both signs make a NaN, which is a value.
        with np.errstate(invalid="ignore", over="ignore"):
            if len(self.few):
                rows, starts = self.spread(self.few)
                merged[self.few] = ufunc.reduceat(column[rows], starts)
            scans: Scans | None = None
            for part in self.parts:
                if part.height == ALONE:
                    merged[part.places] = column[part.first]
                    continue
                if scans is None:
                    scans = Scans(column, ufunc, self.parts[-1].height)
                scans.climb(part.height)
                merged[part.places] = ufunc(scans.suffix[part.first], scans.prefix[part.last])
        return merged

    def chosen(self, order: Ints, *, first: bool) -> Ints:
        """The row of each range that stands first, or last, in an `order` of all rows."""
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        rows: Ints = order[self.reduced(ranks, np.minimum if first else np.maximum)]
        return rows

    def spread(self, places: Ints) -> tuple[Ints, Ints]:
        """The rows of the ranges at `places`, one range after the other, and where each starts."""
        lengths = self.lengths[places]
        starts = np.cumsum(lengths) - lengths
        return np.arange(int(lengths.sum())) + np.repeat(self.first[places] - starts, lengths), starts

    def groups(self, places: Ints) -> Groups:
        """The groups of the rows that `spread` gives."""
        return Groups(np.repeat(np.arange(len(places)), self.lengths[places]), len(places))


def _bits(numbers: Ints) -> NDArray[np.int8]:
    """The number of binary digits of each number from 0 up to 2**52, read from the exponent of its float.

    >>> _bits(np.array([0, 1, 2, 3, 4])).tolist()
    [0, 1, 2, 2, 3]
    """
    digits = numbers.astype(np.float64).view(np.int64)
    digits >>= 52
    digits -= 1022
    return np.maximum(digits, 0, out=digits).astype(np.int8)
