"""Find the one row of another side that is nearest in time: the same key, the last before a time or the first after it.

rows     key a   3  5  9 12      sorted by key and time
wanted   key a   from 4 to 10    ──►  the last is 9, the first is 5: each found by one search
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.probe import common_keys
from fanlight.kernels.search_key_time import first_rows


def last_rows(codes: Ints, times: Ints, of: Ints, low: Ints, high: Ints) -> Ints:
    """The place of the last row of key `of[i]` from `low[i]` to `high[i]`, both inside; -1 if there is none.

    Rows are sorted by code, then by time.

    >>> codes, times = np.array([1, 1, 1, 7]), np.array([3, 5, 5, 5])
    >>> last_rows(codes, times, np.array([1, 1, 7]), np.array([0, 6, 0]), np.array([5, 9, 4])).tolist()
    [2, -1, -1]
    """
    codes, of = _narrow(codes, times, of)
    last = first_rows(codes, times, of, high + 1) - 1
    if not len(codes):
        return last
    fine = (last >= 0) & (codes[last] == of) & (times[last] >= low)
    return np.where(fine, last, -1)


def earliest_rows(codes: Ints, times: Ints, of: Ints, low: Ints, high: Ints) -> Ints:
    """The place of a row at the earliest time of key `of[i]` from `low[i]` to `high[i]`; of several, the last; or -1.

    >>> codes, times = np.array([1, 1, 1, 7]), np.array([3, 5, 5, 5])
    >>> earliest_rows(codes, times, np.array([1, 1, 7]), np.array([4, 6, 0]), np.array([5, 9, 4])).tolist()
    [2, -1, -1]
    """
    codes, of = _narrow(codes, times, of)
    first = first_rows(codes, times, of, low)
    if not len(codes):
        return np.full(len(of), -1)
    places = np.minimum(first, len(times) - 1)
    fine = (first < len(times)) & (codes[places] == of) & (times[places] <= high)
    return np.where(fine, _last_of_time(codes, times)[places], -1)


def last_of_each(differs: Bools) -> Ints:
    """The last place of each run; `differs` says of every place but the first whether another run begins there.

    >>> last_of_each(np.array([False, True])).tolist()
    [1, 2]
    """
    return np.flatnonzero(np.append(differs, True))


def _narrow(codes: Ints, times: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Codes as they are; or numbered, -1 if no row has it, if they are too wide to be searched together with times."""
    if not len(codes) or not len(of) or _fits(codes, times, of):
        return codes, of
    common = common_keys(codes, of)
    wanted = np.full(len(of), -1)
    wanted[common.hits] = common.wanted
    return common.numbers, wanted


def _fits(codes: Ints, times: Ints, of: Ints) -> bool:
    least, most = min(int(codes[0]), int(of.min())), max(int(codes[-1]), int(of.max()))
    return (most - least + 1) * (int(times.max()) - int(times.min()) + 2) < 1 << 62 and max(most, -least) < 1 << 31


def _last_of_time(codes: Ints, times: Ints) -> Ints:
    """For each row the last one of its key and time; nearly always itself."""
    differs = (codes[1:] != codes[:-1]) | (times[1:] != times[:-1])
    if differs.all():
        return np.arange(len(codes))
    last: Ints = last_of_each(differs)[np.append(0, np.cumsum(differs))]
    return last
