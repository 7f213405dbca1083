"""Made-up orders that come twice: over an hour, a little out of order, always the same.

    order of id 7      .              .
    order of id 3        .   .                    the second time up to nine minutes after the first

An order arrives up to five seconds after its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.data import DISORDER, HOUR, START, kept

_APART = 540_000_000


@dataclass(frozen=True, slots=True)
class Repeats:
    """Which orders: how many rows there are in all, two of each id, which is their `key`."""

    rows: int

    def bundles(self) -> list[pa.RecordBatch]:
        """The orders in ten bundles, in memory."""
        return kept(self.name, self._made)

    @property
    def name(self) -> str:
        """What the file that keeps them is called."""
        return f"repeats-1-{self.rows}"

    def _made(self) -> pa.RecordBatch:
        random = np.random.default_rng(20260101)
        ids = self.rows // 2
        first = random.integers(0, HOUR - _APART, ids)
        times = np.concatenate([first, first + random.integers(0, _APART, ids)])
        arrived = np.argsort(times + random.integers(0, DISORDER, len(times)), kind="stable")
        columns = {
            "ts": pa.array(START + times[arrived], pa.timestamp("us", "UTC")),
            "key": pa.array(np.tile(random.permutation(ids), 2)[arrived]),
            "price": pa.array(random.integers(1, 40_000, len(times)) / 4),
        }
        return pa.record_batch(columns)
