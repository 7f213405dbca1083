"""For orientation: one-shot group-bys over the whole hour in memory, by libraries that keep no windows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

import fanlight as fl
from benchmarks.audit import TotalsAudit
from benchmarks.contestants import (
    Bundles,
    Contestant,
    bare_group_by,
    engine,
    numbered_panes,
    orders,
    pipeline,
    rows_of,
)
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, table
from benchmarks.measure import side_by_side
from benchmarks.stopwatch import Stopwatch
from benchmarks.totals import Totals, expected

MINUTE = 60_000_000


def run(scale: Scale) -> Figures:
    bundles = Orders(scale.rows).bundles()
    totals = expected(bundles, MINUTE, MINUTE)
    whole = pa.Table.from_batches(bundles).combine_chunks().to_batches()
    spec = pipeline(orders().window(fl.tumbling("1 minute")))
    contestants = [
        engine("Fanlight, in bundles", spec, bundles, totals),
        bare_group_by("PyArrow, in bundles", bundles, MINUTE, totals),
        bare_group_by("PyArrow, one shot", whole, MINUTE, totals),
        polars_group_by("Polars, one shot", whole, totals),
        duckdb_group_by("DuckDB, one shot", whole, totals),
    ]
    measured = side_by_side("peers", contestants, scale.rounds)
    rows = [
        [name, f"{times.speed:.1f}", f"{measured.ratio('Fanlight, in bundles', name):.2f}"]
        for name, times in measured.times.items()
    ]
    head = ["tumbling 1 min, 10 k keys", "M rows/s", "Fanlight to it"]
    return Figures("peers", scale, (table(head, rows),), measured.busy, ("polars", "duckdb"))


def polars_group_by(name: str, bundles: Bundles, expected: Totals) -> Contestant:
    """Polars on one thread, by its streaming engine: of its ways to do this, the fastest here."""
    import polars as pl  # not before the process is on one core: it counts them when it is imported

    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches(bundles)))

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with watch:
            number = (pl.col("ts").cast(pl.Int64) // MINUTE).alias("number")
            price = pl.col("price")
            values = [pl.len().cast(pl.Int64).alias("n"), price.sum().alias("revenue"), price.max().alias("highest")]
            grouped = frame.lazy().group_by("key", number).agg(values).collect(engine="streaming")
        yield grouped.to_arrow()

    return Contestant(name, play, partial(TotalsAudit, name, _panes, expected), len(frame), 1)


def duckdb_group_by(name: str, bundles: Bundles, expected: Totals) -> Contestant:
    """DuckDB over the Arrow table, on one thread."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    database.register("orders", pa.Table.from_batches(bundles))

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with watch:
            grouped = database.sql(
                f"SELECT key, epoch_us(ts) // {MINUTE}, count(*), sum(price), max(price) FROM orders GROUP BY ALL"
            ).to_arrow_table()
        yield grouped

    return Contestant(name, play, partial(TotalsAudit, name, _panes, expected), rows_of(bundles), 1)


def _panes(grouped: pa.Table) -> pa.Table:
    return numbered_panes(grouped, MINUTE)
