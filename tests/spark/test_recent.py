"""`stream.recent()` on Spark, and into tables: what is shown, as net rows by id and as a changelog."""

from __future__ import annotations

import os
import sqlite3
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
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.int64(), "did": pa.string()})
DDL = "ts timestamp, id bigint, did string"
BATCHES: list[list[tuple[int | None, int, str]]] = [
    [(4, 1, "+I"), (2, 2, "+I"), (None, 9, "+I"), (9, 3, "+I")],
    [(16, 1, "+U"), (8, 3, "-D"), (1, 8, "+I")],
    [(15, 5, "+I"), (25, 6, "+I")],
]
"""Three micro-batches; with no delay the watermark is 9, 16 and 25, and ten seconds are shown. 1 is in time at 9, and
passed at 16 in its own micro-batch, as are 2 and 4. In the end 15, 16 and 25 are shown: 15 + 10 is not below 25.
"""


def table(number: int) -> pa.Table:
    rows = [
        {"ts": None if second is None else BASE + timedelta(seconds=second), "id": one, "did": did}
        for second, one, did in BATCHES[number]
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def put(folder: Path, number: int) -> None:
    """The next micro-batch: Spark reads files in the order of their times."""
    folder.mkdir(exist_ok=True)
    pq.write_table(table(number), folder / f"{number}.parquet")
    os.utime(folder / f"{number}.parquet", (1_700_000_000 + number,) * 2)


def here(**said: Any) -> fl.RowResult[fl.RecentSpec]:
    """The same in this process, a bundle a micro-batch."""
    batches = [batch for number in range(len(BATCHES)) for batch in table(number).to_batches()]
    return fl.stream(pa.RecordBatchReader.from_batches(SCHEMA, batches), time="ts", delay="0 s", **said).recent("10 s")


def asked(file: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(question).fetchall()


def seconds(rows: list[Any], op: str) -> list[tuple[str, int, int]]:
    return [(row[op], row["ts"].second, row["id"]) for row in rows]


def test_a_batch_dataframe_shows_the_last_of_all_its_records(spark: SparkSession, tmp_path: Path) -> None:
    """It is one bundle, then the watermark of all its records, then the end: so nothing is late, and old rows go."""
    for number in range(len(BATCHES)):
        put(tmp_path / "in", number)
    frame = spark.read.schema(DDL).parquet(str(tmp_path / "in"))
    result = fl.stream(frame, time="ts", delay="0 s").key_by("id").recent("10 s")
    assert result.df.columns == ["ts", "id", "did", "op"]
    left = [(op, second) for op, second, _ in seconds(result.df.collect(), "op")]
    came = [second for batch in BATCHES for second, _, _ in batch if second is not None]
    assert sorted(left) == sorted([("+I", second) for second in came] + [("-D", second) for second in [1, 2, 4, 8, 9]])


def test_a_stream_gives_what_it_gives_in_this_process_as_net_rows_and_as_a_changelog(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The query of rows stops after the second micro-batch and goes on; that of changes goes through in one."""

    def source() -> Any:
        return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))

    def run(result: fl.RowResult[Any], name: str, **options: Any) -> None:
        places: Any = {"table": name, "checkpoint": tmp_path / f"checkpoint_{name}"}
        query = result.write_to(f"sqlite:///{file}", available_now=True, **places, **options)
        assert query is not None
        query.awaitTermination(240)

    file = tmp_path / "t.db"
    put(tmp_path / "in", 0)
    put(tmp_path / "in", 1)
    run(fl.stream(source(), time="ts", delay="0 s").recent("10 s"), "log")
    put(tmp_path / "in", 2)
    run(fl.stream(source(), time="ts", delay="0 s").recent("10 s"), "log", flush=True)
    ours = here()
    expected = seconds(ours.table().to_pylist(), "op")
    log = asked(file, "SELECT op, CAST(substr(ts, 18, 2) AS INTEGER), id FROM log ORDER BY rowid")
    assert log == expected
    books = ours.accounting
    counted = asked(file, "SELECT sum(received), sum(accepted), sum(dead_letters) FROM log_accounting")
    assert counted == [(books.received, books.accepted, books.dead_letters)]

    changes: Any = {"op": "did", "unique": "id"}
    run(fl.stream(source(), time="ts", delay="0 s", **changes).recent("10 s"), "net", unique="id", flush=True)
    net: dict[int, int] = {}
    for op, second, one in seconds(here(**changes).table().to_pylist(), "did"):
        net.pop(one, None) if op[0] == "-" else net.update({one: second})
    assert net == {1: 16, 5: 15, 6: 25}
    assert dict(asked(file, "SELECT id, CAST(substr(ts, 18, 2) AS INTEGER) FROM net")) == net
    assert [row[1] for row in asked(file, "PRAGMA table_info(net)")] == ["ts", "id"]
