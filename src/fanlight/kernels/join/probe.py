"""Find the rows of one side that match rows of the other: the same key, and a time between two bounds.

    rows     key a   3  5  9 12     sorted by key and time
    wanted   key a   from 4 to 10    ──►  the rows of 5 and 9: a range, found by two searches

Ranges are spread to pairs at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.search_key_time import first_rows, in_line, searched

_NEXT = 3
"""How many rows a range looks at one by one, before its end is searched."""
_LONGEST = 2**63 - 1


def matches(codes: Ints, times: Ints, of: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All pairs of a wanted range and a row in it: the place of the range, and that of the row.

    Rows are sorted by code, then by time; ranges by code. Bounds are inside. Pairs stand in the order of the ranges,
    then of the rows.

    >>> codes, times = np.array([1, 1, 1, 7]), np.array([3, 5, 9, 5])
    >>> pairs = matches(codes, times, np.array([1, 7]), np.array([4, 6]), np.array([10, 9]))
    >>> [part.tolist() for part in pairs]
    [[0, 0], [1, 2]]
    """
    return ranges(codes, times, of, low, high).spread()


class Ranges(NamedTuple):
    """Ranges of rows that were looked for; some may be empty."""

    hits: Ints
    """Who looks for each."""
    first: Ints
    counts: Ints

    def spread(self) -> tuple[Ints, Ints]:
        """All pairs of who looks and a row that is found."""
        ends = np.cumsum(self.counts)
        rows = np.repeat(self.first - (ends - self.counts), self.counts) + np.arange(ends[-1] if len(ends) else 0)
        return np.repeat(self.hits, self.counts), rows

    def where(self, mask: Bools) -> Ranges:
        """These ranges, as far as `mask` keeps them."""
        return self if mask.all() else Ranges(self.hits[mask], self.first[mask], self.counts[mask])

    def covers(self, rows: int) -> Bools:
        """Which of so many rows are in any of them. No pairs are made where these are more than the rows.

        >>> Ranges(np.arange(3), np.array([1, 2, 2]), np.array([2, 2, 0])).covers(5).tolist()
        [False, True, True, True, False]
        """
        if self.counts.sum() < rows:
            covered = np.zeros(rows, np.bool_)
            covered[self.spread()[1]] = True
            return covered
        begin, end = (np.bincount(places, minlength=rows + 1) for places in (self.first, self.first + self.counts))
        return np.cumsum(begin - end)[:rows] > 0


def ranges(codes: Ints, times: Ints, of: Ints, low: Ints, high: Ints) -> Ranges:
    """The rows of key `of[i]` from `low[i]` to `high[i]`, both inside; `matches` says how they are sorted.

    >>> ranges(np.array([1, 1, 1, 7]), np.array([3, 5, 9, 5]), np.array([1]), np.array([4]), np.array([10])).counts
    array([2])
    """
    if not len(codes) or not len(of):
        return Ranges(*(np.zeros(0, np.int64) for _ in range(3)))
    hits, first, after = _ranges(codes, times, of, low, high + 1)
    return Ranges(hits, first, after - first)


def _ranges(codes: Ints, times: Ints, of: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    """Wanted ranges that may have rows: their places, their first row, and the row after their last one."""
    lines = in_line((codes, times), (of, low), (of, high))
    if lines is not None:
        line, from_, to = lines
        first = searched(line, from_)
        return np.arange(len(of)), first, ends_of(line, first, to)
    # Codes are too far apart to stand in one line with times, as hashes are: then keys are counted.
    numbers, hits, wanted = common_keys(codes, of)
    first = first_rows(numbers, times, wanted, low[hits])
    return hits, first, first_rows(numbers, times, wanted, high[hits])


def ends_of(line: Ints, first: Ints, to: Ints) -> Ints:
    """The row after the last one that is less than `to[i]`, from `first[i]` on.

    Most ranges have few rows, so each looks at its next rows first; those that have more are searched.

    >>> ends_of(np.array([1, 3, 5, 5, 8]), np.array([0, 1, 4]), np.array([1, 6, 9])).tolist()
    [0, 4, 5]
    """
    ends = first.copy()
    padded = np.append(line, _LONGEST)
    open_ = np.flatnonzero(padded[first] < to)
    for _ in range(_NEXT):
        if not len(open_):
            return ends
        ends[open_] += 1
        open_ = open_[padded[ends[open_]] < to[open_]]
    ends[open_] = searched(line, to[open_])
    return ends


class CommonKeys(NamedTuple):
    """The keys that rows and those who look for them have in common, numbered from 0 in their order."""

    numbers: Ints
    """The number of the key of each row."""
    hits: Ints
    """Who looks for a key that some row has."""
    wanted: Ints
    """The number of the key that each of these looks for."""


def common_keys(codes: Ints, of: Ints) -> CommonKeys:
    """Number the keys of rows, which are sorted by code; `of` are the codes that are looked for.

    >>> [part.tolist() for part in common_keys(np.array([4, 4, 9]), np.array([4, 5, 9]))]
    [[0, 0, 1], [0, 2], [0, 1]]
    """
    if not len(codes) or not len(of):
        return CommonKeys(*(np.zeros(0, np.int64) for _ in range(3)))
    heads = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    distinct = codes[heads]
    found = np.minimum(searched(distinct, of), len(distinct) - 1)
    hits = np.flatnonzero(distinct[found] == of)
    numbers = np.repeat(np.arange(len(distinct)), np.diff(np.append(heads, len(codes))))
    return CommonKeys(numbers, hits, found[hits])
