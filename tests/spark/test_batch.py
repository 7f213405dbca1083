"""`fl.batch` on Spark: functions travel as other code of users does, and see the rows that they see in this process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SALES = pa.table(
    {
        "ts": pa.array([BASE + timedelta(seconds=second) for second in (9, 1, 70, 9, 5, 2)], pa.timestamp("us", "UTC")),
        "shop": ["tea", "tea", "tea", "rum", "tea", "rum"],
        "price": pa.array([8, 3, 1, None, 4, 7], pa.int64()),
        "tags": [["a"], [], None, ["b", "c"], ["d"], None],
    }
)
ROW = pa.struct({"shop": pa.string(), "price": pa.int64(), "tags": pa.list_(pa.string())})


def totals(source: object) -> fl.Result:
    """Whole records, and named columns; sessions over the results, in the same query."""
    windows = fl.stream(source, time="ts", delay="0 s").key_by("shop").window(fl.tumbling("1 minute"))  # type: ignore[arg-type]
    return windows.agg(
        rows=fl.batch(lambda table: table.drop_columns(["ts"]), pa.list_(ROW)),
        most=fl.batch(lambda table: pc.max(table["price"]), pa.int64(), "price"),
        n=fl.count(),
    )


def sessions(minutes: fl.Result) -> fl.Result:
    grouped = minutes.key_by("shop").window(fl.session("5 minutes"))
    return grouped.agg(lasts=fl.batch(lambda table: table["n"], pa.list_(pa.int64())))


def test_a_batch_dataframe_gives_what_it_gives_in_this_process(spark: SparkSession) -> None:
    frame = spark.createDataFrame(SALES)
    ours = totals(SALES).table().to_pylist()
    theirs = [row.asDict(recursive=True) for row in totals(frame).df.collect()]
    shown = [[(row["shop"], row["rows"], row["most"], row["n"]) for row in rows] for rows in (ours, theirs)]
    assert sorted(shown[0], key=repr) == sorted(shown[1], key=repr)
    assert shown[0][1][1] == [
        {"shop": "tea", "price": 3, "tags": []},
        {"shop": "tea", "price": 4, "tags": ["d"]},
        {"shop": "tea", "price": 8, "tags": ["a"]},
    ]
    assert {row["shop"]: row["lasts"] for row in sessions(totals(frame)).df.collect()} == {"tea": [3, 1], "rum": [2]}
