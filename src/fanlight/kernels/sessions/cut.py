"""Cut long sessions into shorter ones, from the first record to the last.

    max_count 3      x x x x x x x x
                     [----)[----)[--)

All clusters are cut together: each round cuts one more session from each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.search_key_time import bisected


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that end a session before its gap does."""

    duration: int | None
    count: int | None


def cut(clusters: Ints, times: Ints, ending: Bools, limits: Limits) -> tuple[Ints, Bools]:
    """The rows where sessions start, and which sessions were cut at their end. Rows are sorted by cluster and time.

    `ending` marks rows that end their session. Rows with the same time stay together.

    >>> rows = np.zeros(5, np.int64), np.arange(5), np.zeros(5, np.bool_)
    >>> [part.tolist() for part in cut(*rows, Limits(None, 2))]
    [[0, 2, 4], [True, True, False]]
    """
    count = len(times)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.bool_)
    heads = np.flatnonzero(np.concatenate([[True], clusters[1:] != clusters[:-1]]))
    stop = np.repeat(np.append(heads[1:], count), np.diff(np.append(heads, count)))
    after = _after_equals(clusters, times)
    ended = _after_next(ending, after)
    position = heads
    starts, shortened = [], []
    while len(position):
        limit = np.minimum(stop[position], ended[position])
        by_limit = ended[position] <= stop[position]
        if limits.count is not None:
            last = position + limits.count - 1
            full = last < stop[position]
            reached = np.where(full, after[np.minimum(last, count - 1)], count + 1)
            by_limit |= reached <= limit
            limit = np.minimum(limit, reached)
        if limits.duration is not None:
            over = bisected(times, position, stop[position], times[position] + limits.duration)
            by_limit &= over >= limit
            limit = np.minimum(limit, over)
        starts.append(position)
        shortened.append(by_limit | (limit < stop[position]))
        position = limit[limit < stop[position]]
    order = np.argsort(np.concatenate(starts), kind="stable")
    return np.concatenate(starts)[order], np.concatenate(shortened)[order]


def _after_equals(clusters: Ints, times: Ints) -> Ints:
    """For each row the first one after it with another time or cluster."""
    differs = np.flatnonzero((clusters[1:] != clusters[:-1]) | (times[1:] != times[:-1])) + 1
    bounds = np.append(differs, len(times))
    return bounds[np.searchsorted(bounds, np.arange(len(times)), side="right")]


def _after_next(ending: Bools, after: Ints) -> Ints:
    """For each row the first one after the time of the next ending row; beyond all rows if there is none."""
    marked = np.flatnonzero(ending)
    place = np.searchsorted(marked, np.arange(len(ending)))
    following = np.append(after[marked], len(ending) + 1)
    return following[place]
