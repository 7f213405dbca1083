"""Cutting the time axis into slices, and building windows out of whole slices.

A slice is a piece of time that belongs to one set of windows, so a record goes to one slice however many windows
overlap there. Slices and windows are both numbered along the time axis; ends grow with the number.

    hopping 25 min every 10 min: the axis is cut where a window starts and where one ends

    windows    [0------------------------)
                         [1------------------------)
                                   [2------------------------)
    slices     |-0-|-1-|-2-|-3-|-4-|-5-|-6-|
               0   5   10  15  20  25  30
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fanlight.kernels.groups import Ints
from fanlight.model.calendar import Calendar
from fanlight.model.counting import Counting
from fanlight.model.cumulating import Cumulating
from fanlight.model.kinds import WindowKind, is_aligned
from fanlight.model.semantics import Semantics
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.windows import Global, Hopping, Same, Tumbling

NO_WINDOW = -(2**62)
"""A number below every window's."""
EVERY_WINDOW = 2**62
"""A number above every window's."""
FAR = 2**61
"""Further than any time of a record, and near enough for sums."""


class Slicing(ABC):
    """How one kind of window cuts the time axis."""

    width: int
    """How many slices a window is made of, at most."""
    slides: bool = True
    """Whether windows start one after the other, rather than several together."""

    @staticmethod
    def of(window: WindowKind, semantics: Semantics) -> Slicing:
        """The slicing of a declared window."""
        from fanlight.kernels.by_end import ByEnd  # each of them is a Slicing itself
        from fanlight.kernels.calendars import CalendarUnits
        from fanlight.kernels.cumulative import Cumulative

        match window:
            case Same(of=kind):
                among = Slicing.of(kind, semantics)
                if isinstance(among, Periodic):
                    return Assigned(among.size, among)
                return Assigned(0, among) if isinstance(among, Cumulative) else among
            case Global():
                return Whole()
            case Tumbling() | Hopping():
                return Periodic.of_kind(window, semantics)
            case Cumulating():
                return Cumulative.of_kind(window, semantics)
            case Calendar():
                return CalendarUnits.of_kind(window, semantics)
            case Counting() if is_aligned(window):
                return Periodic.cut(window.size, window.every, 1, None)
            case Counting():
                return ByEnd(by_watermark=False)
        return ByEnd()

    @abstractmethod
    def slices(self, times: Ints) -> Ints:
        """The slice of each time."""

    @abstractmethod
    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        """The first and last window of each slice, both included; last < first where there is none."""

    @abstractmethod
    def members(self, window: int) -> tuple[int, int]:
        """The first and last slice of a window, both included."""

    @abstractmethod
    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        """Where windows start and end."""

    @abstractmethod
    def last_ending_by(self, times: Ints) -> Ints:
        """The last window that ends at each time or before: watermarks turned into numbers."""

    def windows_of(self, times: Ints) -> tuple[Ints, Ints, Ints]:
        """Every (row, window) pair as row, start and end, ordered by row and start."""
        first, last = self.windows(self.slices(times))
        rows, windows = spread(first, last)
        starts, ends = self.bounds(windows)
        return rows, starts, ends


def spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Write the ranges `first..last` out, one row a number: (which range, number).

    >>> [part.tolist() for part in spread(np.array([5, 8, 3]), np.array([6, 7, 3]))]
    [[0, 0, 2], [5, 6, 3]]
    """
    lengths = np.maximum(last - first + 1, 0)
    rows = np.repeat(np.arange(len(first), dtype=np.int64), lengths)
    within = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, first[rows] + within


def covered(first: Ints, last: Ints) -> Ints:
    """Every number that lies in one of the ranges `first..last`, once, ascending.

    >>> covered(np.array([5, 8, 3, 6]), np.array([6, 7, 3, 9])).tolist()
    [3, 5, 6, 7, 8, 9]
    """
    held = first <= last
    order = np.argsort(first[held], kind="stable")
    first, reach = first[held][order], np.maximum.accumulate(last[held][order])
    begins = np.ones(len(first), np.bool_)
    np.greater(first[1:], reach[:-1], out=begins[1:])
    return spread(first[begins], reach[np.roll(begins, -1)])[1]


@dataclass(frozen=True)
class Periodic(Slicing):
    """Windows of one size that start every `every`: tumbling and hopping.

    Where `every` divides `size`, a slice is one `every` long. Where it does not, each period is cut in two at the
    `remainder`, because windows end there: slices are then numbered 2k and 2k + 1.
    """

    size: int
    every: int
    offset: int
    earliest: int
    width: int

    @classmethod
    def of_kind(cls, window: Tumbling | Hopping, semantics: Semantics) -> Periodic:
        """The slicing of tumbling or hopping windows."""
        every = window.every if isinstance(window, Hopping) else window.size
        return cls.cut(window.size.micros, every.micros, window.offset.micros, semantics.earliest_start)

    @classmethod
    def cut(cls, size: int, every: int, offset: int, earliest_start: Timestamp | None) -> Periodic:
        """The slicing for windows of `size` every `every`."""
        offset %= every
        earliest = NO_WINDOW if earliest_start is None else -((offset - earliest_start) // every)
        width = size // every if size % every == 0 else 2 * (size // every) + 1
        return cls(size, every, offset, earliest, width)

    @property
    def remainder(self) -> int:
        """Where a period is cut in two; 0 if it is not."""
        return self.size % self.every

    def slices(self, times: Ints) -> Ints:
        since = times - self.offset if self.offset else times
        periods: Ints = since // self.every
        if not self.remainder:
            return periods
        return 2 * periods + (since - periods * self.every >= self.remainder)

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        if self.remainder:
            first, last = -((self.width - 1 - slices) // 2), slices // 2
        else:
            first, last = slices - (self.width - 1), slices
        return np.maximum(first, self.earliest), last

    def members(self, window: int) -> tuple[int, int]:
        first = 2 * window if self.remainder else window
        return first, first + self.width - 1

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        starts = windows * self.every + self.offset
        return starts, starts + self.size

    def last_ending_by(self, times: Ints) -> Ints:
        within = np.minimum(np.maximum(times, -FAR), FAR)  # so that subtracting cannot wrap
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, (within - (self.offset + self.size)) // self.every)


@dataclass(frozen=True)
class Assigned(Slicing):
    """Windows whose records say themselves which one they are in: each window is its own slice.

    A record's time is the start of its window, which ends `ahead` of that; or it is the end.
    """

    ahead: int
    among: Slicing
    width: int = 1

    def slices(self, times: Ints) -> Ints:
        return self.among.last_ending_by(times + self.ahead)

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return slices, slices

    def members(self, window: int) -> tuple[int, int]:
        return window, window

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return self.among.bounds(windows)

    def last_ending_by(self, times: Ints) -> Ints:
        return self.among.last_ending_by(times)


@dataclass(frozen=True)
class Whole(Slicing):
    """The global window: one slice, one window, number 0."""

    width: int = 1

    def slices(self, times: Ints) -> Ints:
        return np.zeros(len(times), np.int64)

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return slices, slices

    def members(self, window: int) -> tuple[int, int]:
        return 0, 0

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return np.full(len(windows), START_OF_TIME), np.full(len(windows), END_OF_TIME)

    def last_ending_by(self, times: Ints) -> Ints:
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, NO_WINDOW)
