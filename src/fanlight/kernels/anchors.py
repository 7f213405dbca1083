"""The sliding windows that records define: where they start, and which rows they hold.

    diff 10, both     x=100    y=105
    ends at x         [--------x]
    starts after x               [y--------)     only if it holds a record
    ends at y              [---x----y]

Rows lie in the order of key and time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.groups import Bools, Ints, runs
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.kernels.ranges_search import first_rows, one_line, searched, window_rows
from fanlight.model.semantics import Semantics
from fanlight.model.sliding import Anchor, Sliding


@dataclass(frozen=True, slots=True)
class Held:
    """Windows of keys, ordered by code and start, and the rows `[low, high)` that each holds."""

    codes: Ints
    starts: Ints
    ends: Ints
    low: Ints
    high: Ints

    def where(self, mask: Bools) -> Held:
        """The windows that `mask` keeps."""
        return Held(self.codes[mask], self.starts[mask], self.ends[mask], self.low[mask], self.high[mask])


@dataclass(frozen=True, slots=True)
class Anchors:
    """How one kind of sliding window hangs on its records."""

    anchor: Anchor
    length: int
    """From start to end: the difference, and the tick that its last instant takes."""
    tick: int
    earliest: int | None

    @staticmethod
    def of(kind: Sliding, tick: int, semantics: Semantics) -> Anchors:
        """The anchors of a declared window."""
        return Anchors(kind.anchor, kind.difference.micros + tick, tick, semantics.earliest_start)

    @property
    def reach(self) -> int:
        """How far from a record, either way, the windows it defines or is in can reach."""
        return self.length + self.tick

    def homeless(self, times: Ints) -> Bools:
        """Which times no window can hold, because none may start so early."""
        return np.zeros(len(times), np.bool_) if self.earliest is None else times < self.earliest

    def own_ends(self, times: Ints) -> Ints:
        """Where the window ends that a record at each time has for itself and is in."""
        starts = times if self.anchor is Anchor.FORWARD else times - (self.length - self.tick)
        return self._not_before(starts) + self.length

    def past_own(self, times: Ints, through: int) -> int:
        """How many windows that records at these times have for themselves end at `through` or before."""
        if not len(times) or self.own_ends(times.min(keepdims=True))[0] > through:
            return 0
        return int(np.count_nonzero(self.own_ends(times) <= through))

    def hold(self, codes: Ints, times: Ints, of: Ints, at: Ints, after: Ints) -> Bools:
        """Whether a window of these rows, which lie in order, holds key `of[i]` at `at[i]` and ends after `after[i]`.

        All windows are of one length, so of those that hold a time the last one to start is the last one to end.
        """
        if not len(codes):
            return np.zeros(len(of), np.bool_)
        codes_of, starts = _distinct(*self._anchored(codes, times), sort=True)
        place = first_rows(codes_of, starts, of, at + 1) - 1
        near = np.maximum(place, 0)
        ends = starts[near] + self.length
        held: Bools = (place >= 0) & (codes_of[near] == of) & (ends > at) & (ends > after)
        return held

    def windows(self, codes: Ints, times: Ints, first: int, last: int) -> Held:
        """The windows with `first < end <= last` of these rows, which lie in the order of code and time."""
        last_is_own = self.tick == 1  # otherwise times of other rows may lie in the tick that ends a window
        if self.earliest is None and (
            self.anchor is Anchor.FORWARD or (self.anchor is Anchor.TRAILING and last_is_own)
        ):
            return self._at_rows(codes, times, first, last)
        codes_of, starts = self._anchored(codes, times)
        due = (starts + self.length > first) & (starts + self.length <= last)
        codes_of, starts = _distinct(codes_of[due], starts[due], sort=self.anchor is Anchor.BOTH)
        low, high = window_rows(codes, times, codes_of, starts, starts + self.length)
        held = Held(codes_of, starts, starts + self.length, low, high)
        full = low < high
        return held if full.all() else held.where(full)

    def _at_rows(self, codes: Ints, times: Ints, first: int, last: int) -> Held:
        """The same where a window begins or ends with its own rows, so that only its other side is looked up."""
        back = self.length - self.tick if self.anchor is Anchor.TRAILING else 0
        line = one_line(codes, times, self.length)
        heads = _runs(codes, times) if line is None else runs(line)
        due = (times > int(first) - self.length + back) & (times <= int(last) - self.length + back)
        if len(heads) == len(codes) + 1:  # no two at one time
            own = np.flatnonzero(due)
            after = own + 1
        else:
            places = np.flatnonzero(due[heads[:-1]])
            own, after = heads[places], heads[places + 1]
        codes_of, starts = codes[own], times[own] - back
        ends = starts + self.length
        if self.anchor is Anchor.TRAILING:
            low = first_rows(codes, times, codes_of, starts) if line is None else searched(line, line[own] - back)
            return Held(codes_of, starts, ends, low, after)
        high = first_rows(codes, times, codes_of, ends) if line is None else searched(line, line[own] + self.length)
        return Held(codes_of, starts, ends, own, high)

    def _anchored(self, codes: Ints, times: Ints) -> tuple[Ints, Ints]:
        """The code and start of each window that rows define, whether or not a row is in it."""
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
    """Where rows of one code and time start, and the end."""
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
