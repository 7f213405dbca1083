"""`fl.cogroup(…)` on Spark: batch DataFrames and a stream, as in this process."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl

from .test_join import LEFT, ORDERS, PAID, RIGHT, files, table

pytestmark = pytest.mark.slow


def merged(orders: Any, paid: Any, how: Any, *, early: bool = False) -> fl.Result:
    left = fl.stream(orders, time="ts", delay="2 s").key_by("id")
    right = fl.stream(paid, time="at", delay="2 s").key_by("id")
    windows = fl.cogroup(o=left, p=right, how=how).window(fl.tumbling("10 s"), lateness="1 min" if early else None)
    windows = windows.trigger(fl.at_watermark(early=fl.after(1))) if early else windows
    return windows.agg(n=fl.count(), ordered=fl.sum("o.price"), paid=fl.list("p.price"))


def told(rows: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(str(row[name]) for name in ("id", "n", "ordered", "paid")) for row in rows)


def test_every_type_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    here = table([event for events in LEFT for event in events], ORDERS)
    there = table([event for events in RIGHT for event in events], PAID)
    for how in ("full", "inner", "left", "right"):
        expected = merged(here, there, how).table()
        found = pa.Table.from_batches(merged(orders, paid, how).df.toArrow().to_batches())
        assert found.column_names == expected.column_names
        assert told(found.to_pylist()) == told(expected.to_pylist())


def test_a_stream_with_early_firings_leaves_the_table_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that take each other's place are upserted, so the table has the last of each window that both are in."""
    one = "maxFilesPerTrigger"
    frames = [spark.readStream.schema(spark.read.parquet(f).schema).option(one, 1).parquet(f) for f in files(tmp_path)]
    query = merged(*frames, "inner", early=True).write_to(
        f"sqlite:///{tmp_path / 't.db'}", checkpoint=str(tmp_path / "cp"), table="t", available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination(240)
    batches = (
        pa.RecordBatchReader.from_batches(schema, [b for one in steps for b in table(one, schema).to_batches()])
        for steps, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    last = {
        (row["id"], row["window"]["start"]): (row["n"], row["ordered"])
        for row in merged(*batches, "inner", early=True).table().to_pylist()
    }
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT n, ordered FROM t").fetchall()
    assert Counter(found) == Counter(last.values())
    assert last
