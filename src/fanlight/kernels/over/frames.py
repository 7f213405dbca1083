"""Where the frames of rows start and end, as ranges of rows that lie side by side."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.over.peers import differs_from_before
from fanlight.kernels.over.stretches import Stretches
from fanlight.kernels.search_key_time import first_rows, one_line, searched
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame


def frame_rows(frame: Frame, rows: Stretches, at: Ints) -> tuple[Ints, Ints]:
    """The rows `[low, high)` of the frame of each row in `at`, the row itself included.

    >>> from fanlight.model.over.frame import rows as some
    >>> three = Stretches.of(np.zeros(3, np.int64), np.array([1, 2, 3]), None)
    >>> [side.tolist() for side in frame_rows(some(1), three, np.arange(3))]
    [[0, 0, 1], [1, 2, 3]]
    """
    match frame:
        case RowFrame(preceding=preceding, following=following):
            starts, ends = rows.starts[at], rows.ends[at]
            low = starts if preceding is None else np.clip(at - preceding, starts, ends)
            return low, ends if following is None else np.clip(at + (following + 1), low, ends)
        case RangeFrame(preceding=before, following=after):
            low = rows.starts[at] if frame.is_unbounded else _since(rows, at, -before.micros)
            if not after.micros:
                high = _after_peers(rows, at)
            else:
                high = rows.ends[at] if frame.is_endless else _since(rows, at, after.micros + 1)
            return low, np.maximum(low, high) if frame.is_empty else high
        case SessionFrame(gap=gap):
            low, high = sessions(rows, gap.micros)
            return low[at], high[at]
    raise TypeError(f"{frame!r} is no frame.")


def sessions(rows: Stretches, gap: int) -> tuple[Ints, Ints]:
    """The rows `[low, high)` of the session of each row: a silence of `gap` ends one, and so does a stretch.

    >>> [side.tolist() for side in sessions(Stretches.of(np.zeros(3, np.int64), np.array([1, 3, 5]), None), 2)]
    [[0, 1, 2], [1, 2, 3]]
    """
    heads = np.ones(len(rows), np.bool_)
    heads[1:] = (rows.numbers[1:] != rows.numbers[:-1]) | (rows.times[1:] - rows.times[:-1] >= gap)
    places = np.flatnonzero(heads)
    numbers = np.cumsum(heads) - 1
    return places[numbers], np.append(places[1:], len(rows))[numbers]


def excluded_rows(frame: Frame, at: Ints, low: Ints, high: Ints) -> Bools:
    """Whether the row itself is left out of its frame: only where it would be inside."""
    if not frame.excludes_current:
        return np.zeros(len(at), np.bool_)
    inside: Bools = (low <= at) & (at < high)
    return inside


def _since(rows: Stretches, at: Ints, offset: int) -> Ints:
    """The first row of the stretch of each row in `at` that is at its time and `offset`, or later."""
    line = one_line(rows.numbers, rows.times, abs(offset))
    if line is None:
        return first_rows(rows.numbers, rows.times, rows.numbers[at], rows.times[at] + offset)
    return searched(line, line[at] + offset)


def _after_peers(rows: Stretches, at: Ints) -> Ints:
    """The first row after those of the same stretch and time; nearly always the next one."""
    heads = differs_from_before([rows.numbers, rows.times])
    if heads.all():
        return at + 1
    places = np.flatnonzero(heads)
    found: Ints = np.append(places[1:], len(rows))[(np.cumsum(heads) - 1)[at]]
    return found
