"""Polars' trailing averages over the whole hour in memory, on one thread: the two ways it offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.contestants import Contestant
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    import polars as pl

LENGTH = "60s"
AVERAGE = "average"


def polars(
    name: str, orders: pa.Table, way: Callable[[pl.DataFrame], pl.DataFrame], expected: Fingerprint
) -> Contestant:
    """One of the ways below."""
    import polars as pl  # not before the process is on one core: it counts them when it is imported

    frame = pl.DataFrame(pl.from_arrow(orders))

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with watch:
            found = way(frame)
        yield found.to_arrow()

    return Contestant(name, play, partial(FingerprintAudit, name, distinct, expected), len(frame), 1)


def rolling_by(frame: pl.DataFrame) -> pl.DataFrame:
    """As an expression, each key for itself, the answers in the order of the orders: the fastest here."""
    import polars as pl

    average = pl.col("price").rolling_mean_by("ts", LENGTH, closed="both").over("key")
    return frame.select("key", "ts", average.alias(AVERAGE))


def rolling(frame: pl.DataFrame) -> pl.DataFrame:
    """As groups of a frame, which must be sorted for it."""
    import polars as pl

    groups = frame.sort("key", "ts").rolling("ts", period=LENGTH, closed="both", group_by="key")
    return groups.agg(pl.col("price").mean().alias(AVERAGE))


def distinct(rows: pa.Table) -> Columns:
    """Key, time and average. Orders of one key and time have one window, and Polars a row for each of them."""
    key, time = rows.column("key").to_numpy(), rows.column("ts").cast(pa.int64()).to_numpy()
    order = np.lexsort((time, key))
    key, time = key[order], time[order]
    first = np.concatenate([[True], (key[1:] != key[:-1]) | (time[1:] != time[:-1])])
    return key[first], time[first], rows.column(AVERAGE).to_numpy()[order][first]
