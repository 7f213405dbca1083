"""Where the frames of rows start and end, as ranges of rows that lie side by side."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.over.peers import differs_from_before
from fanlight.kernels.over.stretches import Stretches
from fanlight.kernels.search_key_time import first_rows
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame


def frame_rows(frame: Frame, rows: Stretches, at: Ints) -> tuple[Ints, Ints]:
    """The rows `[low, high)` of the frame of each row in `at`, the row itself included.

    >>> from fanlight.model.over.frame import rows as some
    >>> three = Stretches.of(np.zeros(3, np.int64), np.array([1, 2, 3]), None)
    >>> [side.tolist() for side in frame_rows(some(1), three, np.arange(3))]
    [[0, 0, 1], [1, 2, 3]]
    """
    starts, ends = rows.starts[at], rows.ends[at]
    match frame:
        case RowFrame(preceding=preceding, following=following):
            low = starts if preceding is None else np.maximum(at - preceding, starts)
            return low, np.minimum(at + (following + 1), ends)
        case RangeFrame():
            times, numbers = rows.times[at], rows.numbers[at]
            low = starts
            if not frame.is_unbounded:
                low = first_rows(rows.numbers, rows.times, numbers, times - frame.time_before)
            if not frame.time_after:
                return low, _after_peers(rows, at)
            return low, first_rows(rows.numbers, rows.times, numbers, times + (frame.time_after + 1))
    raise TypeError(f"{frame!r} is no frame.")


def _after_peers(rows: Stretches, at: Ints) -> Ints:
    """The first row after those of the same stretch and time; nearly always the next one."""
    heads = differs_from_before([rows.numbers, rows.times])
    if heads.all():
        return at + 1
    places = np.flatnonzero(heads)
    found: Ints = np.append(places[1:], len(rows))[(np.cumsum(heads) - 1)[at]]
    return found
