"""Further kinds of windows on Spark: cumulating, of a calendar, and over the positions of the stream."""

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
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 3, 28, 20, tzinfo=UTC)  # the night in which clocks are put forward in Europe
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "n": pa.int64()})
DDL = "ts timestamp, k string, n bigint"

Declared = Callable[[Any], fl.Result]


def bundle(first: int, hours: str) -> pa.Table:
    """Records a and b in turn, numbered from `first`, each so many hours after the last."""
    rows: list[dict[str, Any]] = []
    for number, hour in enumerate(hours, first):
        rows.append({"ts": BASE + timedelta(hours=3 * number + int(hour)), "k": "ab"[number % 2], "n": number})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


BUNDLES = [bundle(1, "0420"), bundle(5, "13"), bundle(7, "00720")]
WHOLE = pa.concat_tables(BUNDLES)


def counting(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="0 s").key_by("k").window(fl.counting(4, every=2, per="stream"))
    return stream.agg(said=fl.list("n"), total=fl.sum("n"))


def by_column(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="0 s").key_by("k").window(fl.counting(3, per="stream", by="n"))
    return stream.agg(c=fl.count(), total=fl.sum("n"))


def cumulating(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="0 s").key_by("k").window(fl.cumulating("1 day", step="6 hours"))
    return stream.agg(c=fl.count(), total=fl.sum("n"))


def of_a_calendar(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="0 s").key_by("k").window(fl.calendar("day", "Europe/Berlin"))
    return stream.agg(c=fl.count(), total=fl.sum("n"))


@pytest.mark.parametrize("declared", [counting, by_column, cumulating, of_a_calendar])
def test_a_batch_dataframe_gives_what_the_embedded_engine_gives(spark: SparkSession, declared: Declared) -> None:
    frame = spark.createDataFrame(WHOLE.to_pandas(), DDL)
    assert rows(declared(frame).df) == plain(declared(WHOLE).table())


def test_results_over_positions_are_grouped_again_on_a_batch_dataframe(spark: SparkSession) -> None:
    frame = spark.createDataFrame(WHOLE.to_pandas(), DDL)
    both = [counting(source).rewindow().agg(total=fl.sum("total")) for source in (frame, WHOLE)]
    assert rows(both[0].df) == plain(both[1].table())


def test_positions_go_on_from_batch_to_batch_and_are_written_as_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """One file is one micro-batch. All keys are in one shard, which numbers their records as they come."""
    for number, table in enumerate(BUNDLES):
        file = tmp_path / "in" / f"{number}.parquet"
        file.parent.mkdir(exist_ok=True)
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)
    source = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    query = counting(source).write_to(
        f"sqlite:///{tmp_path / 'found.db'}",
        table="found",
        checkpoint=tmp_path / "checkpoint",
        available_now=True,
        flush=True,
    )
    assert query is not None
    assert query.awaitTermination(240), "the query did not end"
    with closing(sqlite3.connect(tmp_path / "found.db")) as database:
        found = database.execute("SELECT k, window_start, window_end, total FROM found").fetchall()
    expected = [(row["k"], *row["window"].values(), row["total"]) for row in counting(WHOLE).table().to_pylist()]
    assert sorted(found) == sorted(expected)


def test_a_stream_over_positions_is_not_grouped_again(spark: SparkSession, tmp_path: Path) -> None:
    source = spark.readStream.schema(DDL).parquet(str(tmp_path))
    with pytest.raises(fl.SpecError, match="windows over positions close by none"):
        counting(source).rewindow().agg(total=fl.sum("total"))


def rows(frame: DataFrame) -> list[Any]:
    return sorted((spelled(row.asDict(recursive=True)) for row in frame.collect()), key=repr)


def plain(table: pa.Table) -> list[Any]:
    return sorted((spelled(row) for row in table.to_pylist()), key=repr)


def spelled(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times in UTC, whatever zone they were read in; positions are as they are."""
    sides = row["window"].values()
    bounds = [side.replace(tzinfo=side.tzinfo or UTC) if isinstance(side, datetime) else side for side in sides]
    return {**row, "window": [str(bound) for bound in bounds]}
