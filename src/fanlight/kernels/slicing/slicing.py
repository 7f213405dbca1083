"""The protocol that cuts the time axis into slices and builds windows from whole slices.

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

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.model.time.timestamp import NO_END

NO_WINDOW = -(2**62)
"""A number below every window's."""
EVERY_WINDOW = NO_END
"""A number above every window's, also where ends serve as numbers."""
FAR = 2**61
"""Beyond the time of any record, and small enough to be added to one."""


class Slicing(ABC):
    """How one kind of window cuts the time axis.

    Times, slices and windows are columns of whole numbers; times are microseconds. A slice's windows follow one another
    without a gap, and so do a window's slices.
    """

    width: int
    """How many slices a window is made of, at most."""
    slides: bool = True
    """Whether windows start one after the other, rather than several together."""

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
        """The last window that ends at each time or before: this turns watermarks into window numbers."""

    def windows_of(self, times: Ints) -> tuple[Ints, Ints, Ints]:
        """Every (row, window) pair as row, start and end, ordered by row and start."""
        first, last = self.windows(self.slices(times))
        rows, windows = spread(first, last)
        starts, ends = self.bounds(windows)
        return rows, starts, ends


def spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Expand the ranges `first..last` to one row for each number: (index of the range, number).

    >>> [part.tolist() for part in spread(np.array([5, 8, 3]), np.array([6, 7, 3]))]
    [[0, 0, 2], [5, 6, 3]]
    """
    lengths = np.maximum(last - first + 1, 0)
    rows = np.repeat(np.arange(len(first), dtype=np.int64), lengths)
    within = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, first[rows] + within


def covered(first: Ints, last: Ints) -> Ints:
    """The distinct numbers in the ranges `first..last`, ascending.

    >>> covered(np.array([5, 8, 3, 6]), np.array([6, 7, 3, 9])).tolist()
    [3, 5, 6, 7, 8, 9]
    """
    held = first <= last
    order = np.argsort(first[held], kind="stable")
    first, reach = first[held][order], np.maximum.accumulate(last[held][order])
    begins = np.ones(len(first), np.bool_)
    np.greater(first[1:], reach[:-1], out=begins[1:])
    return spread(first[begins], reach[np.roll(begins, -1)])[1]
