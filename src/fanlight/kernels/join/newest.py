"""The newest rows of groups: those that came last, and the greatest time of each."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.grouping.row_identity import places_within


def came_last(groups: Ints, came: Ints, count: int) -> Bools:
    """Which rows are among the `count` of their group that came last.

    >>> came_last(np.array([7, 7, 5, 7]), np.array([3, 1, 2, 9]), 2).tolist()
    [True, False, True, True]
    """
    order = np.argsort(-came, kind="stable")
    fine = np.empty(len(came), np.bool_)
    fine[order] = places_within(groups[order]) < count
    return fine


def greatest_of_group(groups: Ints, times: Ints) -> Ints:
    """For each row the greatest time in its group.

    >>> greatest_of_group(np.array([7, 7, 5]), np.array([3, 1, 2])).tolist()
    [3, 3, 2]
    """
    if not len(groups):
        return times
    distinct, of = np.unique(groups, return_inverse=True)
    greatest = np.full(len(distinct), times.min())
    np.maximum.at(greatest, of, times)
    found: Ints = greatest[of]
    return found
