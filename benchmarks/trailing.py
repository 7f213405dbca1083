"""Trailing windows by their definition: for each distinct time of a key, its records from `difference` before up to it.

rows by key and time     k: . .  ..   .   | m:  .  ..
a range of them             [-----]       |     (low, high)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.data import DISORDER, START
from benchmarks.fingerprint import Columns

_BITS = 33
"""Room for the times of a key: an hour is half of it, so that a window that begins before the first time finds none."""
_QUARTERS = 4
"""Prices are whole quarters: counted in them, sums are exact."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trailing:
    """The trailing windows of some orders, all of which are windows of an hour or less."""

    keys: Ints
    times: Ints
    low: Ints
    high: Ints
    prices: Ints
    """Of every order, by key and time, in quarters."""

    @staticmethod
    def of(orders: pa.Table, difference: int) -> Trailing:
        """The windows, by key and time; `difference` in microseconds."""
        times = _numbers(orders, "ts") - (START - DISORDER)
        placed = (_numbers(orders, "key") << _BITS) + times
        order = np.argsort(placed, kind="stable")
        placed = placed[order]
        last = np.flatnonzero(np.concatenate([placed[1:] != placed[:-1], [True]]))
        low = np.searchsorted(placed, placed[last] - difference)
        prices = np.rint(orders.column("price").to_numpy()[order] * _QUARTERS).astype(np.int64)
        ends = (placed[last] & ((1 << _BITS) - 1)) + (START - DISORDER)
        return Trailing(placed[last] >> _BITS, ends, low, last + 1, prices)

    def averages(self) -> Columns:
        """Key, time and average price."""
        sums = np.concatenate([[0], np.cumsum(self.prices)])
        total = (sums[self.high] - sums[self.low]) / _QUARTERS
        return self.keys, self.times, total / (self.high - self.low)

    def highest(self) -> Columns:
        """Key, time and highest price: of two overlapping stretches of 2**k rows, for the k that each window needs."""
        levels = np.frexp((self.high - self.low).astype(np.float64))[1] - 1
        found = np.empty(len(self.low), np.int64)
        stretch = self.prices
        for level in range(int(levels.max()) + 1):
            here = np.flatnonzero(levels == level)
            found[here] = np.maximum(stretch[self.low[here]], stretch[self.high[here] - (1 << level)])
            stretch = np.maximum(stretch[: -(1 << level)], stretch[1 << level :])
        return self.keys, self.times, found / _QUARTERS


def _numbers(orders: pa.Table, name: str) -> Ints:
    numbers: Ints = orders.column(name).cast(pa.int64()).to_numpy()
    return numbers
