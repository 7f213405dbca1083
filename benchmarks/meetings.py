"""Made-up rows of two sides that meet: five minutes of them, a little out of order, always the same.

    left  of key 7     .    .      .    .            sixty of each side and key
    right of key 7       .    . .     .              so that within five seconds each row meets about one

Rows of the left side and of the right one take turns. A row arrives up to five seconds after its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.data import DISORDER, START, kept

REACH = 5_000_000
"""How far apart rows may be that belong together."""

_SPAN = 300_000_000
_EACH = 120
"""Rows of a key, of both sides together."""
_HOT = 0.2
"""The share of the left rows that one key has: a tenth of all rows."""


@dataclass(frozen=True, slots=True)
class Meetings:
    """Which rows: how many of both sides together; `hot`, if one key has a tenth of them, and no more matches."""

    rows: int
    hot: bool = False

    def bundles(self) -> list[pa.RecordBatch]:
        """The rows of both sides in ten bundles, in memory: every second one is of the right side."""
        return kept(self.name, self._made)

    def sides(self) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
        """The bundles of the left side, and those of the right one."""
        lefts, rights = ([_every_second(bundle, first) for bundle in self.bundles()] for first in (0, 1))
        return lefts, rights

    def three_sides(self) -> dict[str, list[pa.RecordBatch]]:
        """The bundles of the left side, and those of the right one as two: its rows take turns."""
        lefts, rights = self.sides()
        first, second = ([_every_second(bundle, place) for bundle in rights] for place in (0, 1))
        return {"o": lefts, "p": first, "s": second}

    @property
    def name(self) -> str:
        """What the file that keeps them is called."""
        return f"meetings-1-{self.rows}{'-hot' if self.hot else ''}"

    def _made(self) -> pa.RecordBatch:
        random = np.random.default_rng(20260101)
        times = START + np.arange(self.rows) * _SPAN // self.rows - random.integers(0, DISORDER, self.rows)
        keys = random.integers(0, max(self.rows // _EACH, 1), self.rows)
        if self.hot:
            lefts = keys[::2]
            keys[::2] = np.where(random.random(len(lefts)) < _HOT, 0, lefts)
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "key": pa.array(keys),
            "price": pa.array(random.integers(1, 40_000, self.rows) / 4),
        }
        return pa.record_batch(columns)


def _every_second(bundle: pa.RecordBatch, first: int) -> pa.RecordBatch:
    return bundle.take(pa.array(np.arange(first, len(bundle), 2)))
