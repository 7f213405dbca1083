"""What row operators keep, step by step: a run of an hour, and one of twenty.

    minutes    |---|---|---|  …  |---|         a bundle each, up to five seconds out of order
    ids         7 . 8 . 9 7 10 8               every other order is one of four minutes ago, again

Each hour has the keys, prices and disorder of the hour before, so that what is kept differs only if it grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import orders
from benchmarks.data import DISORDER, START
from benchmarks.figures import Figures, Scale, at_most, table
from benchmarks.stopwatch import Stopwatch

HOURS, MINUTES = 20, 60
KEYS = 10_000
BAR = 1.01
"""How much more a run of twenty hours may keep at most: the counts of the accounting have more digits."""

_MINUTE = 60_000_000
_AGAIN = 4
"""Minutes after which an order comes again."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""Ids are multiples of it: they have no order, and a late one takes no more bytes than an early one."""

OVER, SORT, UNIQUE = "over, average over 60 s", "sort, 5 s of disorder", "unique_by, within 10 min"
OPERATORS: dict[str, Callable[[], fl.OverSpec | fl.SortSpec | fl.UniqueSpec]] = {
    OVER: lambda: orders().over(fl.range("60 s")).add(average=fl.avg("price")).spec,
    SORT: lambda: orders().sort().spec,
    UNIQUE: lambda: fl.stream([], time="ts", delay="5 seconds").unique_by("id", within="10 minutes").spec,
}


@dataclass(frozen=True, slots=True)
class Kept:
    """The bytes of a snapshot after each minute of a run, by operator."""

    sizes: dict[str, list[int]]

    def most(self, name: str, hours: int) -> int:
        """The most bytes in the first hours."""
        return max(self.sizes[name][: hours * MINUTES])

    def growth(self, name: str) -> float:
        """How much more the whole run keeps at most than its first hour."""
        return self.most(name, HOURS) / self.most(name, 1)


def run(scale: Scale) -> tuple[Figures, Kept]:
    watch = Stopwatch()
    kept = Kept({name: _played(name, scale.rows, watch) for name in OPERATORS})
    rows = [
        [
            name,
            *(f"{kept.most(name, hours) / 1e6:.3f}" for hours in (1, HOURS)),
            f"{kept.growth(name):.4f}",
            at_most(kept.growth(name), BAR),
        ]
        for name in OPERATORS
    ]
    head = ["the most that is kept", "in 1 hour, MB", f"in {HOURS} hours, MB", "ratio", "bar"]
    return Figures("state", replace(scale, rounds=1), (table(head, rows),), watch.wall / watch.seconds), kept


def _played(name: str, rows: int, watch: Stopwatch) -> list[int]:
    """The bytes after each minute; it stops everything if a row is missing, or there are too many."""
    operator, sizes, left = fl.StandaloneOperator(OPERATORS[name]()), [], 0
    a_minute = rows // (HOURS * MINUTES)
    for minute in range(HOURS * MINUTES):
        bundle = _bundle(minute, a_minute)
        with watch:
            operator.add(bundle)
            left += len(operator.take())
            sizes.append(len(operator.snapshot()))
    with watch:
        operator.end()
        left += len(operator.take())
    expected = HOURS * MINUTES * a_minute // (2 if name == UNIQUE else 1)
    if left != expected:
        raise SystemExit(f"{name}: {left:,} rows left, not {expected:,}. No figure stands on that.")
    return sizes


def _bundle(minute: int, rows: int) -> pa.RecordBatch:
    """The orders of a minute."""
    random = np.random.default_rng(minute % MINUTES)
    numbers, back = minute * rows + np.arange(rows), _AGAIN * rows
    times = START + numbers * _MINUTE // rows - random.integers(0, DISORDER, rows)
    again = np.where(numbers < back, numbers, numbers - back) - 1  # at first, the order just before
    ids = np.where(numbers % 2 == 1, again, numbers).astype(np.uint64)
    return pa.record_batch(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "key": random.integers(0, KEYS, rows),
            "price": random.integers(1, 40_000, rows) / 4,
            "id": (ids * _SPREAD).view(np.int64),
        }
    )
