"""The first of each id: records are looked at as they came, and one in reach of a kept record of its id is left out.

    id a, reach 10, by time     0    4    9    12   15   23
    came as                     1st  4th  5th  2nd  3rd  6th
    kept                        ●              ●         ●        4 and 9 are in reach of 0, 15 is in reach of 12

What is decided for a record changes what is decided for later ones. Three things cut this into pieces that are decided
at once: records of several ids; records of one id with a gap longer than the reach between them (a stretch ends there);
and what lies on either side of a kept record. Of a stretch the first to come is kept, then of all behind its reach the
first to come, and so on to both ends of the stretch. What is left between two of these is a stretch of its own.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.search_key_time import first_rows
from fanlight.kernels.sort_key_time import RowOrder, sort_by_key_time


def first_within(codes: Ints, times: Ints, reach: int, kept_codes: Ints, kept_times: Ints) -> Bools:
    """Which records are kept, in the order they came; `codes` are their ids, and others were kept before.

    >>> codes, none = np.zeros(6, np.int64), np.zeros(0, np.int64)
    >>> first_within(codes, np.array([0, 12, 15, 4, 9, 23]), 10, none, none).tolist()
    [True, True, False, False, False, True]
    """
    before, every = len(kept_codes), np.concatenate([kept_codes, codes])
    kept: Bools = np.bincount(every)[every] == 1  # nearly always most ids come once
    if kept[before:].all():
        return kept[before:]
    rows = sort_by_key_time(every, np.concatenate([kept_times, times]), ~kept)
    chosen = rows.order < before
    while True:
        rows = _rows_at(rows, np.flatnonzero(~_in_reach(rows, chosen, reach)))
        if not len(rows.order):
            return kept[before:]
        chosen = _first_of_stretches(rows, reach)
        kept[rows.order[chosen]] = True


def starts_within(codes: Ints, times: Ints, reach: int, kept_codes: Ints, kept_times: Ints) -> tuple[Ints, Bools]:
    """The start of each row's group, and which rows start one; rows come in the order of their times.

    A group has the rows of an id up to `reach` after its first. Others may have started before, and be open still.

    >>> codes, none = np.zeros(4, np.int64), np.zeros(0, np.int64)
    >>> starts_within(codes, np.array([0, 8, 12, 20]), 10, none, none)[0].tolist()
    [0, 0, 12, 12]
    """
    starts = first_within(codes, times, reach, kept_codes, kept_times)
    before = len(kept_codes)
    rows = sort_by_key_time(np.concatenate([kept_codes, codes]), np.concatenate([kept_times, times]))
    is_start = np.concatenate([np.ones(before, np.bool_), starts])[rows.order]
    found = np.empty(len(rows.order), np.int64)
    found[rows.order] = rows.times[np.maximum.accumulate(np.where(is_start, np.arange(len(is_start)), 0))]
    return found[before:], starts


def _rows_at(rows: RowOrder, places: Ints) -> RowOrder:
    return RowOrder(rows.order[places], rows.codes[places], rows.times[places])


def _in_reach(rows: RowOrder, chosen: Bools, reach: int) -> Bools:
    """Which rows are in reach of a chosen one of their id, themselves included."""
    count = len(chosen)
    places = np.arange(count)
    found = np.zeros(count, np.bool_)
    if not chosen.any():
        return found
    before = np.maximum.accumulate(np.where(chosen, places, -1))
    after = np.minimum.accumulate(np.where(chosen, places, count)[::-1])[::-1]
    for nearest in (np.maximum(before, 0), np.minimum(after, count - 1)):
        is_own = chosen[nearest] & (rows.codes[nearest] == rows.codes)
        found |= is_own & (np.abs(rows.times - rows.times[nearest]) <= reach)
    return found


def _first_of_stretches(rows: RowOrder, reach: int) -> Bools:
    """Which rows are surely kept: of each stretch the first to come, and those that follow it to both ends."""
    starts = np.ones(len(rows.order), np.bool_)
    starts[1:] = (rows.codes[1:] != rows.codes[:-1]) | (rows.times[1:] - rows.times[:-1] > reach)
    if starts.all():
        return starts
    heads = np.flatnonzero(starts)
    stretches = np.cumsum(starts) - 1
    first = np.minimum.reduceat(rows.order, heads)[stretches] == rows.order
    later = _followed(stretches, rows.times, rows.order, first, reach)
    backwards = (len(heads) - 1 - stretches)[::-1], -rows.times[::-1], rows.order[::-1], first[::-1]
    return later | _followed(*backwards, reach)[::-1]


def _followed(stretches: Ints, times: Ints, came: Ints, first: Bools, reach: int) -> Bools:
    """The first of each stretch, then of the rows behind its reach the first to come, and so on to the end.

    Rows are sorted by stretch and time. Every row knows the one that would follow it; then jumps are doubled, so that
    a chain of a thousand rows takes ten rounds.
    """
    heads, count = np.flatnonzero(first), len(times)
    behind = first_rows(stretches, times, stretches[heads], times[heads] + (reach + 1))
    if not _is_inside(behind, stretches, stretches[heads]).any():
        return first
    behind = first_rows(stretches, times, stretches, times + (reach + 1))
    size = int(came.max()) + 1
    place_of = np.empty(size, np.int64)
    place_of[came] = np.arange(count)
    # Stretches before are lower by more than `came` can differ: so one running minimum starts anew with each.
    lift = stretches * size
    earliest = np.minimum.accumulate((came + lift)[::-1])[::-1] - lift
    jumps = np.full(count + 1, count)
    inside = np.flatnonzero(_is_inside(behind, stretches, stretches))
    jumps[inside] = place_of[earliest[behind[inside]]]
    found = np.append(first, False)
    while True:
        reached = jumps[np.flatnonzero(found)]
        reached = reached[reached < count]
        if not len(reached):
            return found[:-1]
        found[reached] = True
        jumps = jumps[jumps]


def _is_inside(places: Ints, stretches: Ints, own: Ints) -> Bools:
    """Whether each place is a row of its own stretch, not the end of it."""
    inside: Bools = (places < len(stretches)) & (stretches[np.minimum(places, len(stretches) - 1)] == own)
    return inside
