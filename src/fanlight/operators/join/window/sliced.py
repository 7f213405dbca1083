"""The windows of rows where all keys share them: which a row is in, and which are over."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, Slicing, spread
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.join.window.windowed_rows import RowWindows


def windows_between(slicing: Slicing, times: Ints, after: int, through: int) -> RowWindows:
    """The windows of rows at these times: those after the window `after`, up to and with `through`."""
    if not len(times):
        return RowWindows(np.zeros(0, np.int64), np.zeros(0, np.int64))
    first, last = slicing.windows(slicing.slices(times))
    first, last = np.maximum(first, after + 1), np.minimum(last, through)
    if (first == last).all():
        return RowWindows(np.arange(len(times)), first)
    return RowWindows(*spread(first, last))


def homeless_and_over(slicing: Slicing, times: Ints, watermarks: Ints) -> tuple[Bools, Bools]:
    """Which times are in no window, and of which all windows have ended by the watermark."""
    first, last = slicing.windows(slicing.slices(times))
    homeless = last < first
    return homeless, ~homeless & (last <= ended_by(slicing, watermarks))


def ended_by(slicing: Slicing, watermarks: Ints) -> Ints:
    """The last window that has ended by each watermark."""
    return np.where(watermarks == START_OF_TIME, NO_WINDOW, slicing.last_ending_by(watermarks))


def start_after(slicing: Slicing, window: int) -> Timestamp:
    """Where the window after this one starts: every earlier row is in this one, or in those before it, alone."""
    if window <= NO_WINDOW:
        return START_OF_TIME
    return END_OF_TIME if window >= EVERY_WINDOW else int(slicing.bounds(np.array([window + 1]))[0][0])


def end_of(slicing: Slicing, window: int) -> Timestamp:
    """Where a window ends."""
    if window <= NO_WINDOW:
        return START_OF_TIME
    return END_OF_TIME if window >= EVERY_WINDOW else int(slicing.bounds(np.array([window]))[1][0])
