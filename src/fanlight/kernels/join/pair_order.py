"""The order of pairs: by the left row, then by the right one; a row's place is its time, then its arrival number.

A left row has several pairs, so the left rows are put in order, not the pairs. A pair then stands where its left row
does. The pairs of one left row mostly have their right rows in order already: only where they do not, they are sorted.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.kernels.sort_time import sort_by_time

_SPARSE = 4
"""Arrival numbers that reach over this many times as many numbers as there are pairs are looked up by a search."""


def pair_order(left_times: Ints, left_came: Ints, right_times: Ints, right_came: Ints) -> Ints:
    """The order of pairs by four columns, the first one first. Arrival numbers tell left rows apart.

    >>> times, came = np.array([5, 5, 3]), np.array([1, 1, 2])
    >>> pair_order(times, came, np.array([9, 4, 7]), np.array([1, 2, 3])).tolist()
    [2, 1, 0]
    """
    if len(left_times) < 2:
        return np.arange(len(left_times))
    ranks = _ranks(left_times, left_came)
    order, ranks, _ = sort_by_key_time(ranks, np.zeros(len(ranks), np.int64))
    _settle(order, ranks, right_times, right_came)
    return order


def _ranks(times: Ints, came: Ints) -> Ints:
    """The place of each pair's left row among all left rows."""
    first = int(came.min())
    width = int(came.max()) - first + 1
    if width > _SPARSE * len(came):
        numbers, of = np.unique(came, return_inverse=True)
        width = len(numbers)
    else:
        of = came - first
    time_of = np.zeros(width, np.int64)
    is_there = np.zeros(width, np.bool_)
    time_of[of] = times
    is_there[of] = True
    rows = np.flatnonzero(is_there)  # as they came, so that rows of one time stay so
    ranks = np.empty(width, np.int64)
    ranks[rows[sort_by_time(time_of[rows], [])]] = np.arange(len(rows))
    found: Ints = ranks[of]
    return found


def _settle(order: Ints, ranks: Ints, times: Ints, came: Ints) -> None:
    """Sort the pairs of those left rows whose right rows are not in order."""
    time, arrival = times[order], came[order]
    is_back = time[1:] < time[:-1]
    is_back |= (time[1:] == time[:-1]) & (arrival[1:] < arrival[:-1])
    is_back &= ranks[1:] == ranks[:-1]
    if not is_back.any():
        return
    is_unsettled = np.zeros(int(ranks[-1]) + 1, np.bool_)
    is_unsettled[ranks[1:][is_back]] = True
    places = np.flatnonzero(is_unsettled[ranks])
    pairs = order[places]
    order[places] = pairs[np.lexsort([came[pairs], times[pairs], ranks[places]])]
