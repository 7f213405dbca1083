"""`stream.unique_by()` on Spark: one row of each id, from a batch DataFrame and from a stream, as in this process."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.int64(), "n": pa.int64()})
DDL = "ts timestamp, id bigint, n bigint"

Payment = tuple[int | None, int, int]
"""Second, id, and a number of its own."""
BATCHES: list[list[Payment]] = [
    [(4, 1, 1), (2, 2, 2), (9, 1, 3), (None, 1, 4), (14, 3, 5)],
    [(12, 2, 6), (13, 2, 7), (30, 1, 8), (14, 1, 9)],
    [(29, 1, 10), (20, 4, 11), (17, 5, 12), (41, 3, 13)],
]
"""Three micro-batches with a delay of 2 s: the watermark is 12 after the first and 28 after the second. Ids reach 10 s.
So of the third 17 is expired for the first of each id, and 20 as well for the last.
"""
FIRST = [1, 2, 5, 7, 8, 11, 13]
"""9 - 4 and 12 - 2 are in reach, 13 - 2 is not; 14 is in reach of 4, 29 of 30."""


def table(payments: list[Payment]) -> pa.Table:
    times = [None if second is None else BASE + timedelta(seconds=second) for second, _, _ in payments]
    columns = [times, [one for _, one, _ in payments], [number for _, _, number in payments]]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)


def put(folder: Path, number: int) -> None:
    """The next micro-batch: Spark reads files in the order of their times."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    pq.write_table(table(BATCHES[number]), file)
    os.utime(file, (1_700_000_000 + number,) * 2)


def here(keep: Literal["first", "last"]) -> fl.RowResult[fl.UniqueSpec]:
    """The same in this process, a bundle a micro-batch."""
    whole = [batch for payments in BATCHES for batch in table(payments).to_batches()]
    source = pa.RecordBatchReader.from_batches(SCHEMA, whole)
    return fl.stream(source, time="ts", delay="2 seconds").unique_by("id", within="10 s", keep=keep)


def run(result: fl.RowResult[Any], folder: Path, **options: Any) -> None:
    target, checkpoint = f"sqlite:///{folder / 't.db'}", str(folder / "checkpoint")
    query = result.write_to(target, checkpoint=checkpoint, table="payments", available_now=True, **options)
    assert query is not None
    query.awaitTermination(240)
    assert not query.isActive


def test_a_batch_is_one_bundle_so_nothing_in_it_is_late(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(len(BATCHES)):
        put(tmp_path / "in", number)
    frame = spark.read.schema(DDL).parquet(str(tmp_path / "in"))
    result = fl.stream(frame, time="ts", delay="2 seconds").unique_by("id", within="1 h", keep="last")
    assert result.df.schema == frame.schema
    assert sorted(row["n"] for row in result.df.collect()) == [7, 8, 11, 12, 13]
    (received, accepted, duplicates), *_ = result.accounts.selectExpr(
        "sum(received)", "sum(accepted)", "sum(duplicates)"
    ).collect()
    assert (received, accepted, duplicates) == (13, 5, 7)


@pytest.mark.parametrize("keep", ["first", "last"])
def test_a_stream_gives_what_it_gives_in_this_process(
    spark: SparkSession, tmp_path: Path, keep: Literal["first", "last"]
) -> None:
    """The query stops after the second micro-batch, and goes on from its checkpoint."""

    def unique() -> fl.RowResult[fl.UniqueSpec]:
        frame = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        return fl.stream(frame, time="ts", delay="2 seconds").unique_by("id", within="10 s", keep=keep)

    put(tmp_path / "in", 0)
    put(tmp_path / "in", 1)
    run(unique(), tmp_path)
    put(tmp_path / "in", 2)
    run(unique(), tmp_path, flush=True)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        left = [number for (number,) in connection.execute("SELECT n FROM payments ORDER BY n")]
        (counted,) = connection.execute(
            "SELECT sum(received), sum(accepted), sum(duplicates), sum(dead_letters) FROM payments_accounting"
        ).fetchall()
    ours = here(keep)
    assert left == sorted(ours.table().column("n").to_pylist())
    books = ours.accounting
    assert counted == (books.received, books.accepted, books.duplicates, books.dead_letters)
    assert counted[0] == counted[1] + counted[2] + counted[3]
    if keep == "first":
        assert left == FIRST
