"""The sliding windows that records define: their bounds, and the rows in each.

    diff 10, both     x=100    y=105
    ends at x         [--------x]
    starts after x               [y--------)     only if it holds a record
    ends at y              [---x----y]

Rows are sorted by key and time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints, runs
from fanlight.kernels.search_key_time import first_rows, one_line, searched, window_rows
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.semantics import Semantics
from fanlight.model.windows.sliding import Anchor, Sliding


@dataclass(frozen=True, slots=True)
class WindowRanges(Columnar):
    """Windows of keys, ordered by code and start, and the rows `[low, high)` that each holds."""

    codes: Ints
    starts: Ints
    ends: Ints
    low: Ints
    high: Ints


@dataclass(frozen=True, slots=True)
class Anchors:
    """Where the sliding windows of a record lie: their anchor and their length."""

    anchor: Anchor
    length: int
    """From start to end: the difference, and one tick, because both ends are inside."""
    tick: int
    earliest: int | None

    @staticmethod
    def of(kind: Sliding, tick: int, semantics: Semantics) -> Anchors:
        """The anchors of a declared kind of window."""
        return Anchors(kind.anchor, kind.difference.micros + tick, tick, semantics.earliest_start)

    @property
    def reach(self) -> int:
        """The greatest distance from a record, in either direction, of the windows that it defines or is in."""
        return self.length + self.tick

    def homeless(self, times: Ints) -> Bools:
        """Which times are in no window, because they are before the earliest allowed start."""
        return np.zeros(len(times), np.bool_) if self.earliest is None else times < self.earliest

    def own_ends(self, times: Ints) -> Ints:
        """The end of a record's own window, for a record at each time."""
        starts = times if self.anchor is Anchor.FORWARD else times - (self.length - self.tick)
        return self._not_before(starts) + self.length

    def past_own(self, times: Ints, through: int) -> int:
        """How many of the own windows of records at these times end at `through` or before."""
        if not len(times) or self.own_ends(times.min(keepdims=True))[0] > through:
            return 0
        return int(np.count_nonzero(self.own_ends(times) <= through))

    def hold(self, codes: Ints, times: Ints, of: Ints, at: Ints, after: Ints) -> Bools:
        """Whether a window of these sorted rows contains time `at[i]` of key `of[i]` and ends after `after[i]`.

        All windows have one length, so the last window to start before a time is also the last to end.
        """
        if not len(codes):
            return np.zeros(len(of), np.bool_)
        codes_of, starts = _distinct(*self._anchored(codes, times), sort=True)
        place = first_rows(codes_of, starts, of, at + 1) - 1
        near = np.maximum(place, 0)
        ends = starts[near] + self.length
        held: Bools = (place >= 0) & (codes_of[near] == of) & (ends > at) & (ends > after)
        return held

    def windows(self, codes: Ints, times: Ints, first: int, last: int) -> WindowRanges:
        """The windows with `first < end <= last` of these rows, which are sorted by code and time."""
        last_is_own = self.tick == 1  # with a longer tick, other rows may have times inside the tick that ends a window
        if self.earliest is None and (
            self.anchor is Anchor.FORWARD or (self.anchor is Anchor.TRAILING and last_is_own)
        ):
            return self._at_rows(codes, times, first, last)
        codes_of, starts = self._anchored(codes, times)
        due = (starts + self.length > first) & (starts + self.length <= last)
        codes_of, starts = _distinct(codes_of[due], starts[due], sort=self.anchor is Anchor.BOTH)
        low, high = window_rows(codes, times, codes_of, starts, starts + self.length)
        held = WindowRanges(codes_of, starts, starts + self.length, low, high)
        return held.where(low < high)

    def _at_rows(self, codes: Ints, times: Ints, first: int, last: int) -> WindowRanges:
        """The same where a window begins or ends with its own rows, so only its other bound is searched for."""
        back = self.length - self.tick if self.anchor is Anchor.TRAILING else 0
        line = one_line(codes, times, self.length)
        heads = _runs(codes, times) if line is None else runs(line)
        due = (times > int(first) - self.length + back) & (times <= int(last) - self.length + back)
        if len(heads) == len(codes) + 1:  # one window for each distinct time
            own = np.flatnonzero(due)
            after = own + 1
        else:
            places = np.flatnonzero(due[heads[:-1]])
            own, after = heads[places], heads[places + 1]
        codes_of, starts = codes[own], times[own] - back
        ends = starts + self.length
        if self.anchor is Anchor.TRAILING:
            low = first_rows(codes, times, codes_of, starts) if line is None else searched(line, line[own] - back)
            return WindowRanges(codes_of, starts, ends, low, after)
        high = first_rows(codes, times, codes_of, ends) if line is None else searched(line, line[own] + self.length)
        return WindowRanges(codes_of, starts, ends, own, high)

    def _anchored(self, codes: Ints, times: Ints) -> tuple[Ints, Ints]:
        """The code and start of each window that rows define, empty ones included."""
        heads = _runs(codes, times)[:-1]
        codes, times = codes[heads], times[heads]
        match self.anchor:
            case Anchor.TRAILING:
                return codes, self._not_before(times - (self.length - self.tick))
            case Anchor.FORWARD:
                return codes, self._not_before(times)
        starts = np.concatenate([times - (self.length - self.tick), times + self.tick])
        return np.concatenate([codes, codes]), self._not_before(starts)

    def _not_before(self, starts: Ints) -> Ints:
        return starts if self.earliest is None else np.maximum(starts, self.earliest)


def _runs(codes: Ints, times: Ints) -> Ints:
    """Where runs of rows with the same code and time start, then where the last one ends."""
    is_head = np.ones(len(codes) + 1, np.bool_)
    is_head[1:-1] = codes[1:] != codes[:-1]
    is_head[1:-1] |= times[1:] != times[:-1]
    return np.flatnonzero(is_head) if len(codes) else np.zeros(1, np.int64)


def _distinct(codes: Ints, starts: Ints, *, sort: bool) -> tuple[Ints, Ints]:
    """Each (code, start) once, in order."""
    if sort:
        _, codes, starts = sort_by_key_time(codes, starts)
    first = np.ones(len(codes), np.bool_)
    first[1:] = (codes[1:] != codes[:-1]) | (starts[1:] != starts[:-1])
    return (codes, starts) if first.all() else (codes[first], starts[first])
