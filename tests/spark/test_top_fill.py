"""`top` and `fill` on Spark: from a batch DataFrame and from a stream that stops and goes on, as in this process."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "shop": pa.string(), "price": pa.int64()})
DDL = "ts timestamp, shop string, price bigint"

Sale = tuple[int, str, int]
"""Second, shop, price."""
BATCHES: list[list[Sale]] = [
    [(4, "a", 7), (9, "b", 3), (20, "a", 9), (31, "c", 1), (62, "a", 4)],
    [(15, "a", 8), (70, "b", 6), (50, "b", 5), (125, "a", 2)],
    [(10, "c", 2), (240, "b", 1), (301, "a", 5), (302, "c", 5), (365, "b", 2)],
]
"""Minutes close with the greatest time, as the watermark has no delay: 15 and 50 come late, and change ranks."""

Declared = Callable[[fl.Stream], fl.RowResult[Any]]


def first(stream: fl.Stream) -> fl.RowResult[Any]:
    return stream.key_by("shop").window(fl.tumbling("1 minute"), lateness="1 hour").top(2, by="price")


def overall(stream: fl.Stream) -> fl.RowResult[Any]:
    """The dearest shop of each minute: the stages do not share their keys, so rows travel between them."""
    totals = stream.key_by("shop").window(fl.tumbling("1 minute")).agg(total=fl.sum("price"))
    return totals.rewindow().top(1, by=("total", fl.asc("shop")))


def filled(stream: fl.Stream) -> fl.RowResult[Any]:
    minutes = stream.key_by("shop").window(fl.tumbling("1 minute")).agg(n=fl.count(), price=fl.max("price"))
    return minutes.fill("linear", longest="10 minutes")


def table(sales: list[Sale]) -> pa.Table:
    rows = [{"ts": BASE + timedelta(seconds=second), "shop": shop, "price": price} for second, shop, price in sales]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def put(folder: Path, number: int) -> None:
    """The next micro-batch: Spark reads files in the order of their times."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    pq.write_table(table(BATCHES[number]), file)
    os.utime(file, (1_700_000_000 + number,) * 2)


def here(declare: Declared, batches: list[list[Sale]]) -> pa.Table:
    """The same in this process, a bundle a micro-batch."""
    whole = [batch for sales in batches for batch in table(sales).to_batches()]
    return declare(fl.stream(pa.RecordBatchReader.from_batches(SCHEMA, whole), time="ts", delay="0 s")).table()


def spelled(rows: list[Any]) -> list[str]:
    return sorted(repr(row) for row in rows)


def test_a_batch_gives_what_it_gives_in_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """All records are one bundle: no rank changes."""
    for number in range(len(BATCHES)):
        put(tmp_path / "in", number)
    frame = spark.read.schema(DDL).parquet(str(tmp_path / "in"))
    together = [sale for sales in BATCHES for sale in sales]
    for declare in (first, overall, filled):
        found = pa.Table.from_batches(declare(fl.stream(frame, time="ts", delay="0 s")).df.toArrow().to_batches())
        ours = here(declare, [together])
        assert found.column_names == ours.column_names
        assert spelled(found.cast(ours.schema).to_pylist()) == spelled(ours.to_pylist())


@pytest.mark.parametrize(("declare", "count"), [(first, 13), (filled, 19)])
def test_a_stream_gives_what_it_gives_in_this_process(
    spark: SparkSession, tmp_path: Path, declare: Declared, count: int
) -> None:
    """The query stops after the second micro-batch, and goes on from its checkpoint.

    A table has one row for each key, window and rank: where ranks change, the last. Filled, a has the minutes 0 to 5, b
    has 0 to 6 and c has 0 to 5.
    """
    for numbers, flush in (((0, 1), False), ((2,), True)):
        for number in numbers:
            put(tmp_path / "in", number)
        frame = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        query = declare(fl.stream(frame, time="ts", delay="0 s")).write_to(
            f"sqlite:///{tmp_path / 't.db'}",
            table="found",
            checkpoint=tmp_path / "checkpoint",
            available_now=True,
            flush=flush,
        )
        assert query is not None
        query.awaitTermination(240)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.row_factory = sqlite3.Row
        left = [dict(row) for row in connection.execute("SELECT * FROM found")]
    ours = standing(here(declare, BATCHES))
    assert spelled([told(row) for row in left]) == spelled([told(row) for row in ours])
    assert len(left) == count


def standing(rows: pa.Table) -> list[dict[str, Any]]:
    """What a table has after these rows."""
    stands: dict[str, dict[str, Any]] = {}
    for row in rows.to_pylist():
        op = row.pop("op", "+I")
        window = row.pop("window", None)
        row |= {} if window is None else {"window_start": window["start"], "window_end": window["end"]}
        place = repr([row.get(name) for name in ("shop", "window_start", "rank")])
        if op == "-D":
            del stands[place]
        elif op != "-U":
            stands[place] = row
    return list(stands.values())


def told(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells rows apart, whatever a database makes of times."""
    names = ("shop", "price", "total", "n", "rank")
    return (str(row["window_start"])[:16].replace("T", " "), *(row.get(name) for name in names))
