"""Each row with the average of its key's last minute through the whole engine, against DuckDB's window functions.

DuckDB has the whole hour in memory, on one thread, and nothing arrives. And how the cost grows with the frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Contestant, Play, fed_rows, orders, rows_of
from benchmarks.data import Orders
from benchmarks.figures import Figures, Scale, at_most, table, verdict
from benchmarks.fingerprint import Fingerprint, FingerprintAudit
from benchmarks.measure import Measured, side_by_side
from benchmarks.rolling import AVERAGE, distinct
from benchmarks.stopwatch import Stopwatch
from benchmarks.trailing import Trailing

MINUTE = 60_000_000
BAR, GROWTH = 1.2, 3
RECORDS = (10, 100, 1_000, 10_000)
"""Rows in a frame, where the cost's growth is measured."""
KEYS_EACH = 100_000
"""Orders of each key there."""
OURS, DUCKDB = "Fanlight, in bundles", "DuckDB, one shot"
SQL = f"""
    SELECT key, ts, price,
           avg(price) OVER (PARTITION BY key ORDER BY ts RANGE INTERVAL 60 SECOND PRECEDING) AS {AVERAGE}
    FROM orders
"""


def run(scale: Scale) -> Figures:
    against, growth = _against_duckdb(scale), _growth(scale)
    ratio = against.ratio(OURS, DUCKDB)
    rows = [
        [name, f"{times.speed:.2f}", f"{against.ratio(OURS, name):.2f}", "" if name == OURS else verdict(ratio, BAR)]
        for name, times in against.times.items()
    ]
    first = str(RECORDS[0])
    grown = []
    for records in map(str, RECORDS):
        cost = growth.ratio(first, records)
        bar = "" if records == first else at_most(cost, GROWTH)
        grown.append([f"{int(records):,}", f"{growth.times[records].nanoseconds:.0f}", f"{cost:.2f}", bar])
    tables = (
        table(["average over 60 s, 10 k keys", "M rows/s", "Fanlight to it", "bar"], rows),
        table(["rows a frame", "ns a row", "to 10", "bar"], grown),
    )
    return Figures("over", scale, tables, max(against.busy, growth.busy), ("duckdb",))


def _against_duckdb(scale: Scale) -> Measured:
    bundles = Orders(scale.rows, keys=scale.rows // 2_000).bundles()
    whole = pa.Table.from_batches(bundles)
    audit = partial(FingerprintAudit, read=distinct, expected=Fingerprint.of(Trailing.of(whole, MINUTE).averages()))
    spec = orders().over(fl.range("60 s")).add(**{AVERAGE: fl.avg("price")}).spec
    contestants = [
        Contestant(OURS, fed_rows(spec, bundles), partial(audit, OURS), rows_of(bundles), len(bundles) + 1),
        Contestant(DUCKDB, _duckdb(whole), partial(audit, DUCKDB), len(whole), 1),
    ]
    return side_by_side("over", contestants, scale.rounds)


def _growth(scale: Scale) -> Measured:
    bundles = Orders(scale.rows, keys=max(scale.rows // KEYS_EACH, 1)).bundles()
    contestants = []
    for records in RECORDS:
        spec = orders().over(fl.rows(records - 1), forget="never").add(**{AVERAGE: fl.avg("price")}).spec
        audit = partial(RowsAudit, str(records), rows_of(bundles))
        contestants.append(Contestant(str(records), fed_rows(spec, bundles), audit, rows_of(bundles), len(bundles) + 1))
    return side_by_side("over, growth", contestants, scale.rounds)


class RowsAudit:
    """Looks whether every row came out, with a value."""

    def __init__(self, name: str, rows: int) -> None:
        self._name = name
        self._missing = rows

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""
        self._missing -= len(table) - table.column(AVERAGE).null_count if len(table) else 0

    def close(self) -> None:
        """Stop everything if rows are missing, or there are too many."""
        if self._missing:
            raise SystemExit(f"{self._name}: {self._missing} rows are missing, so no figure stands.")


def _duckdb(orders: pa.Table) -> Play:
    import duckdb

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with duckdb.connect(config={"threads": 1}) as database:
            database.register("orders", orders)
            with watch:
                found = database.sql(SQL).to_arrow_table()
        yield found

    return play
