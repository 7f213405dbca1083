"""Rows of several keys side by side, each key's in its order, cut into stretches.

key        a  a  a  a  b  b
time       1  2  9 10  3  4        forget 5
stretch    0  0  1  1  2  2
starts     0  0  2  2  4  4
ends       2  2  4  4  6  6
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.sort_key_time import sort_by_key


@dataclass(frozen=True, slots=True)
class EarlierRows:
    """What is known of the first rows, which were released before: of each key they are of one stretch."""

    count: int
    continues: Bools
    """By key code: whether the next row of the key belongs to that stretch too."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Rows by key, in the order of each key, and the stretch of each: a range of rows."""

    order: Ints
    """The place of each row before it was put here."""
    codes: Ints
    times: Ints
    numbers: Ints
    """The stretch of each row, counted over all keys: they ascend."""
    starts: Ints
    ends: Ints

    @staticmethod
    def of(codes: Ints, times: Ints, forget: int | None, earlier: EarlierRows | None = None) -> Stretches:
        """Put rows side by side that come in the order of their keys; the first are the earlier ones, if there are any.

        >>> found = Stretches.of(np.array([0, 1, 0, 0]), np.array([1, 3, 2, 9]), forget=5)
        >>> found.order.tolist(), found.starts.tolist(), found.ends.tolist()
        ([0, 2, 3, 1], [0, 0, 2, 3], [2, 2, 3, 4])
        """
        order, codes = sort_by_key(codes)
        times = times[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = codes[1:] != codes[:-1]
        if forget is not None and len(order):
            heads[1:] |= _breaks(order, codes, times, forget, earlier)
        starts = np.flatnonzero(heads)
        ends = np.append(starts[1:], len(order)) if len(order) else starts
        each = np.arange(len(starts)), starts, ends
        return Stretches(order, codes, times, *(np.repeat(one, ends - starts) for one in each))

    def __len__(self) -> int:
        return len(self.order)


def _breaks(order: Ints, codes: Ints, times: Ints, forget: int, earlier: EarlierRows | None) -> Bools:
    """Whether a row starts a new stretch, for each row but the first; other keys are none of its business."""
    far: Bools = times[1:] - times[:-1] > forget
    if earlier is None or not earlier.count:
        return far
    known = order < earlier.count
    after_known = ~known[1:] & ~earlier.continues[codes[1:]]
    found: Bools = np.where(known[:-1], after_known, far)
    return found
