"""What row operators and joins keep, step by step: a run of an hour, and one of twenty; and what is left at the end.

    minutes    |---|---|---|  …  |---|         a bundle each, up to five seconds out of order
    ids         7 . 8 . 9 7 10 8               every other order is one of four minutes ago, again

    sides       p o p o p o p o                of a join: every other row

Each hour has the keys, prices and disorder of the hour before, so that what is kept differs only if it grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import fanlight as fl
from benchmarks.contestants import orders
from benchmarks.data import DISORDER, START
from benchmarks.figures import Figures, Scale, at_most, table
from benchmarks.stopwatch import Stopwatch
from fanlight.state.memory import MemoryStore

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
INNER, LEFT, AS_OF = "interval join, 60 s, inner eager", "interval join, 60 s, left on close", "as-of join, 60 s, left"
_REACH = 60_000_000


def _sides() -> tuple[fl.Stream, fl.Stream]:
    """The two sides of a join, fed by hand."""
    left, right = (fl.stream([], time="ts", delay="5 seconds", name=name).key_by("key") for name in ("o", "p"))
    return left, right


def _joined(match: fl.Interval | fl.AsOf, how: str) -> Any:
    left, right = _sides()
    return left.join(right, match, how=how)


OPERATORS: dict[str, Callable[[], Any]] = {
    OVER: lambda: orders().over(fl.range("60 s")).add(average=fl.avg("price")),
    SORT: lambda: orders().sort(),
    UNIQUE: lambda: fl.stream([], time="ts", delay="5 seconds").unique_by("id", within="10 minutes"),
    INNER: lambda: _joined(fl.interval("0 s", "60 s"), "inner").eager(),
    LEFT: lambda: _joined(fl.interval("0 s", "60 s"), "left").on_close(),
    AS_OF: lambda: _joined(fl.as_of("60 s"), "left"),
}
JOINS = (INNER, LEFT, AS_OF)


@dataclass(frozen=True, slots=True)
class Kept:
    """The bytes of a snapshot after each minute of a run, by operator; and what is left when the input has ended."""

    sizes: dict[str, list[int]]
    ended: dict[str, int]
    """The bytes of a snapshot after the end."""
    spaces: dict[str, tuple[str, ...]]
    """The spaces that still have chunks then."""

    def most(self, name: str, hours: int) -> int:
        """The most bytes in the first hours."""
        return max(self.sizes[name][: hours * MINUTES])

    def growth(self, name: str) -> float:
        """How much more the whole run keeps at most than its first hour."""
        return self.most(name, HOURS) / self.most(name, 1)


def run(scale: Scale) -> tuple[Figures, Kept]:
    watch, kept = Stopwatch(), Kept({}, {}, {})
    a_minute = scale.rows // (HOURS * MINUTES)
    expected = _expected(a_minute)
    for name in OPERATORS:
        _play(name, a_minute, expected[name], watch, kept)
    rows = [
        [
            name,
            *(f"{kept.most(name, hours) / 1e6:.3f}" for hours in (1, HOURS)),
            f"{kept.growth(name):.4f}",
            at_most(kept.growth(name), BAR),
            f"{kept.ended[name]:,}",
            ", ".join(kept.spaces[name]),
        ]
        for name in OPERATORS
    ]
    head = ["the most that is kept", "in 1 hour, MB", f"in {HOURS} hours, MB", "ratio", "bar", "at the end, bytes"]
    figures = table([*head, "chunks left"], rows)
    return Figures("state", replace(scale, rounds=1), (figures,), watch.wall / watch.seconds), kept


def _play(name: str, a_minute: int, expected: int, watch: Stopwatch, kept: Kept) -> None:
    """The bytes after each minute; it stops everything if a row is missing, there are too many, or state stays."""
    store = MemoryStore()
    operator, sizes, left = OPERATORS[name]().operator(store=store), [], 0
    for minute in range(HOURS * MINUTES):
        bundle = _bundle(minute, a_minute)
        with watch:
            if name in JOINS:
                for source, share in zip(("p", "o"), _halves(bundle), strict=True):
                    operator.add(share, source=source)
            else:
                operator.add(bundle)
            left += len(operator.take())
            sizes.append(len(operator.snapshot()))
    with watch:
        operator.end()
        left += len(operator.take())
    if left != expected:
        raise SystemExit(f"{name}: {left:,} rows left, not {expected:,}. No figure stands on that.")
    spaces = tuple(sorted(store.spaces))
    if spaces != ("index",):
        raise SystemExit(f"{name}: when the input has ended there are chunks in {', '.join(spaces)}, not in the index.")
    kept.sizes[name], kept.ended[name], kept.spaces[name] = sizes, len(operator.snapshot()), spaces


def _expected(a_minute: int) -> dict[str, int]:
    """How many rows leave each operator in all."""
    rows = HOURS * MINUTES * a_minute
    pairs, alone = _matched(a_minute)
    lefts = HOURS * MINUTES * (a_minute // 2)
    return {OVER: rows, SORT: rows, UNIQUE: rows // 2, INNER: pairs, LEFT: pairs + alone, AS_OF: lefts}


def _matched(a_minute: int) -> tuple[int, int]:
    """How many pairs the interval join has, and how many left rows are in none: by searching, minute by minute."""
    pairs = alone = 0
    for minute in range(HOURS * MINUTES):
        near = range(max(minute - 1, 0), min(minute + 3, HOURS * MINUTES))
        rights = np.sort(np.concatenate([_lines(_halves(_bundle(one, a_minute))[0]) for one in near]))
        lefts = _lines(_halves(_bundle(minute, a_minute))[1])
        found = np.searchsorted(rights, lefts + _REACH, side="right") - np.searchsorted(rights, lefts)
        pairs += int(found.sum())
        alone += int(np.count_nonzero(found == 0))
    return pairs, alone


def _lines(rows: pa.RecordBatch) -> NDArray[np.int64]:
    """Keys and times as numbers on one line, in which no two keys are within reach of one another."""
    times = rows.column("ts").cast(pa.int64()).to_numpy() - START
    lines: NDArray[np.int64] = rows.column("key").to_numpy() * (1 << 40) + times
    return lines


def _halves(bundle: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The right side of a bundle and the left one: every other row."""
    places = np.arange(len(bundle))
    right, left = (bundle.take(pa.array(places[places % 2 == odd])) for odd in (1, 0))
    return right, left


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
