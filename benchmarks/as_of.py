"""Trades with the quote of their time through the whole engine, against Polars' `join_asof`.

Every fifth row is a quote. Polars has both sides in memory, on one thread, and nothing arrives; it sorts them by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Bundles, Contestant, Play
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table, verdict
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.measure import Measured, side_by_side
from benchmarks.stopwatch import Stopwatch
from benchmarks.two_sides import joined_by_fanlight

BAR = 0.5
EVERY = 5
TOLERANCE = 60_000_000
OURS, POLARS = "Fanlight, in bundles", "Polars, `join_asof`, one shot"


def run(scale: Scale) -> Figures:
    rows, busy = [], []
    for kind, orders in (("int64 keys", Orders(scale.rows)), ("string keys", Orders(scale.rows, text=True))):
        measured = _measured(kind, orders, scale)
        ours, other = (f"{measured.times[name].speed:.2f}" for name in (OURS, POLARS))
        ratio = measured.ratio(OURS, POLARS)
        rows.append([kind, ours, other, f"{ratio:.2f}", verdict(ratio, BAR)])
        busy.append(measured.busy)
    head = ["the newest quote of the last 60 s, 10 k keys", f"{OURS}, M rows/s", f"{POLARS}, M rows/s", "ratio", "bar"]
    return Figures("as_of", scale, (table(head, rows),), max(busy), ("polars",))


def _measured(kind: str, orders: Orders, scale: Scale) -> Measured:
    quotes, trades = ([_share(bundle, quotes=which) for bundle in orders.bundles()] for which in (True, False))
    expected = Fingerprint.of(defined_quotes(trades, quotes))
    contestants = [
        Contestant(name, play, partial(FingerprintAudit, name, _pairs, expected), orders.rows, steps)
        for name, play, steps in (
            (OURS, joined_by_fanlight(trades, quotes, _with_quotes), len(trades) + 1),
            (POLARS, _polars(trades, quotes), 1),
        )
    ]
    return side_by_side(f"as-of, {kind}", contestants, scale.rounds)


def _share(bundle: pa.RecordBatch, *, quotes: bool) -> pa.RecordBatch:
    """The quotes of a bundle, or its trades."""
    places = np.arange(len(bundle))
    return bundle.take(pa.array(places[(places % EVERY == 0) == quotes]))


def _with_quotes(trades: fl.Stream, quotes: fl.Stream) -> fl.JoinResult:
    return trades.join(quotes, fl.as_of("60 s"), how="left")


def _polars(trades: Bundles, quotes: Bundles) -> Play:
    import polars as pl  # not before the process is on one core: it counts them when it is imported

    left, right = (pl.DataFrame(pl.from_arrow(pa.Table.from_batches(side))) for side in (trades, quotes))

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with watch:
            sorted_quotes = right.select("key", "ts", ts_p="ts", price_p="price").sort("ts", maintain_order=True)
            found = left.sort("ts", maintain_order=True).join_asof(
                sorted_quotes, on="ts", by="key", strategy="backward", tolerance="60s"
            )
        yield found.to_arrow()

    return play


def _pairs(rows: pa.Table) -> Columns:
    """The times and prices of trades with a quote; without one they are counted by none."""
    rows = rows.filter(rows.column("ts_p").is_valid())
    times = (rows.column(name).cast(pa.int64()).to_numpy() for name in ("ts", "ts_p"))
    return (*times, *(rows.column(name).to_numpy() for name in ("price", "price_p")))


def defined_quotes(trades: Bundles, quotes: Bundles) -> Columns:
    """Each trade with its quote, by searching its time among the quotes of its key."""
    (key, time, price), (other, when, bid) = map(_by_key, (trades, quotes))
    start = int(when.min()) - TOLERANCE
    line, places = key * (1 << 40) + (time - start), other * (1 << 40) + (when - start)
    last = np.searchsorted(places, line, side="right") - 1
    near = (last >= 0) & (line - places[last] <= TOLERANCE)
    return time[near], when[last[near]], price[near], bid[last[near]]


def _by_key(bundles: Bundles) -> Columns:
    """Key, time and price of rows, by key and time; keys as numbers."""
    side = pa.Table.from_batches(bundles)
    key = side.column("key")
    numbers = key.to_numpy() if pa.types.is_integer(key.type) else _numbers(key)
    time = side.column("ts").cast(pa.int64()).to_numpy()
    order = np.lexsort([time, numbers])
    return numbers[order], time[order], side.column("price").to_numpy()[order]


def _numbers(names: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The number at the end of each name."""
    encoded = names.combine_chunks().dictionary_encode()
    own = np.array([int(name.rpartition("-")[2]) for name in encoded.dictionary.to_pylist()])
    return own[encoded.indices.to_numpy()]
