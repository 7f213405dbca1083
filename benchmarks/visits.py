"""Made-up visits: each is a few orders of one key, seconds apart. Over an hour, a little out of order, always the same.

    visit of key 7      .   . .     .
    visit of key 3        .     . .    .   .        five orders each, up to twenty seconds apart

An order arrives up to five seconds after its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.data import DISORDER, HOUR, START, kept

_ORDERS = 5
_APART = 20_000_000


@dataclass(frozen=True, slots=True)
class Visits:
    """Which visits: how many orders there are in all, and of how many keys; prices are whole quarters."""

    rows: int
    keys: int

    def bundles(self) -> list[pa.RecordBatch]:
        """The orders in ten bundles, in memory."""
        return kept(self.name, self._made)

    @property
    def name(self) -> str:
        """What the file that keeps them is called."""
        return f"visits-1-{self.rows}-{self.keys}"

    def _made(self) -> pa.RecordBatch:
        random = np.random.default_rng(20260101)
        visits = self.rows // _ORDERS
        apart = random.integers(0, _APART, (visits, _ORDERS))
        times = (random.integers(0, HOUR - _ORDERS * _APART, visits)[:, None] + np.cumsum(apart, axis=1)).ravel()
        keys = np.repeat(random.integers(0, self.keys, visits), _ORDERS)
        arrived = np.argsort(times + random.integers(0, DISORDER, len(times)), kind="stable")
        columns = {
            "ts": pa.array(START + times[arrived], pa.timestamp("us", "UTC")),
            "key": pa.array(keys[arrived]),
            "price": pa.array(random.integers(1, 40_000, len(times)) / 4),
        }
        return pa.record_batch(columns)
