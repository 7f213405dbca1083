"""Equal rows, compared over several columns of numbers."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Groups, Ints


def same_rows(*columns: Ints) -> tuple[Groups, Ints]:
    """Give rows that are equal in every column the same number, in ascending order; and one row for each number.

    >>> groups, rows = same_rows(np.array([7, 5, 7]), np.array([1, 2, 1]))
    >>> groups.codes.tolist(), rows.tolist()
    ([1, 0, 1], [1, 0])
    """
    count = len(columns[0])
    order = np.lexsort(columns[::-1])
    first = np.ones(count, np.bool_)
    if count:
        first[1:] = np.logical_or.reduce([column[order][1:] != column[order][:-1] for column in columns])
    codes = np.empty(count, np.int64)
    codes[order] = np.cumsum(first) - 1
    return Groups(codes, int(np.count_nonzero(first))), order[first]


def places_within(codes: Ints) -> Ints:
    """The place of each row among the rows with the same code, from 0.

    >>> places_within(np.array([3, 1, 3, 3, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    heads = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(codes) else order
    sizes = np.diff(np.append(heads, len(codes)))
    places = np.empty(len(codes), np.int64)
    places[order] = np.arange(len(codes)) - np.repeat(heads, sizes)
    return places
