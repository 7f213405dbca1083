"""Find times among rows that are sorted by key and time.

Key and time become one number, key after key, so one search finds both. The wanted times are mostly sorted too: then
they are searched piece by piece, and each piece only among the few rows where it can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fanlight.kernels.routes import ROUTES

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Ints

_LONGEST = 2**63 - 1


def window_rows(codes: Ints, times: Ints, of: Ints, low_times: Ints, high_times: Ints) -> tuple[Ints, Ints]:
    """The rows of windows: those of key `of[i]` with times from `low_times[i]` up to, not including, `high_times[i]`.

    `codes` and `times` are sorted, by code and then by time. Row numbers are half-open too, as `ranges` takes them.

    >>> codes, times = np.array([0, 0, 0, 1]), np.array([10, 20, 30, 10])
    >>> [part.tolist() for part in window_rows(codes, times, codes, times - 10, times + 1)]
    [[0, 0, 1, 3], [1, 2, 3, 4]]
    """
    return first_rows(codes, times, of, low_times), first_rows(codes, times, of, high_times)


def first_rows(codes: Ints, times: Ints, of: Ints, since: Ints) -> Ints:
    """The first row of key `of[i]` at `since[i]` or later; the end of the key's rows if there is none."""
    if not len(codes) or not len(of):
        return np.zeros(len(of), np.int64)
    lines = in_line((codes, times), (of, since))
    if lines is None:
        # No row is later or earlier than these, so a wanted time beyond them finds the same row as one of them.
        lines = in_line((codes, times), (of, np.clip(since, int(times.min()), int(times.max()) + 1)))
    if lines is None:
        return bisected(times, np.searchsorted(codes, of), np.searchsorted(codes, of, side="right"), since)
    return searched(*lines)


def in_line(*rows: tuple[Ints, Ints]) -> list[Ints] | None:
    """One number for each (code, time), in the same order; None if int64 is too narrow for them."""
    held = [(codes, times) for codes, times in rows if len(codes)]
    if not held:
        return [codes for codes, _ in rows]
    earliest = min(int(times.min()) for _, times in held)
    latest = max(int(times.max()) for _, times in held)
    least = min(int(codes.min()) for codes, _ in held)
    greatest = max(int(codes.max()) for codes, _ in held)
    span = latest - earliest + 1
    if greatest * span + max(latest, 0) > _LONGEST or least * span + min(earliest, 0) < -_LONGEST:
        return None
    lines = []
    for codes, times in rows:
        line = codes * span
        line += times
        lines.append(line)
    return lines


def one_line(codes: Ints, times: Ints, reach: int) -> Ints | None:
    """Like `in_line`, for sorted rows: adding or subtracting up to `reach` never makes a number of another key.

    None if there are no rows, too.
    """
    if not len(codes):
        return None
    earliest, latest = int(times.min()), int(times.max())
    span = latest - earliest + 1 + reach
    least, greatest = int(codes[0]) * span + earliest - reach, int(codes[-1]) * span + latest + reach
    if max(span, greatest, -least) > _LONGEST:
        return None
    line = codes * span
    line += times
    return line


def searched(ordered: Ints, wanted: Ints, *, after_equal: bool = False) -> Ints:
    """How many of the sorted numbers are less than each wanted one; with `after_equal`, less or equal."""
    side: Literal["left", "right"] = "right" if after_equal else "left"
    size = ROUTES.get().searched_piece
    if len(wanted) <= size or (wanted[1:] < wanted[:-1]).any():
        return np.searchsorted(ordered, wanted, side=side)
    found = np.empty(len(wanted), np.int64)
    bounds = np.searchsorted(ordered, np.append(wanted[::size], wanted[-1]), side=side).tolist()
    for piece in range(len(bounds) - 1):
        low, high = bounds[piece], bounds[piece + 1]
        places = slice(piece * size, (piece + 1) * size)
        np.add(np.searchsorted(ordered[low:high], wanted[places], side=side), low, out=found[places])
    return found


def bisected(times: Ints, low: Ints, high: Ints, since: Ints) -> Ints:
    """The first row from `low` up to `high` at `since` or later: a binary search for all of them at once."""
    low, high = low.copy(), high.copy()
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) >> 1
        is_before = times[middle] < since[open_]
        low[open_[is_before]] = middle[is_before] + 1
        high[open_[~is_before]] = middle[~is_before]
    return low
