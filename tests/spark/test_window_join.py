"""`left.join(right, same_window(…))` on Spark: every type over batch DataFrames, and a stream, as in this process."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.testing.vectors.join.hosts import HOSTS

from .test_join import LEFT, ORDERS, PAID, RIGHT, How, counted, files, table

pytestmark = pytest.mark.slow
HOPS = fl.hopping("10 s", "5 s")


def joined(orders: Any, paid: Any, how: How, **more: Any) -> fl.JoinResult:
    left = fl.stream(orders, time="ts", delay="2 s", name="o").key_by("id")
    right = fl.stream(paid, time="at", delay="2 s", name="p").key_by("id")
    return left.join(right, fl.same_window(HOPS), how=how, **more)


def test_every_type_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    here = table([event for events in LEFT for event in events], ORDERS)
    there = table([event for events in RIGHT for event in events], PAID)
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        condition = {"where": fl.col("price") < fl.col("p.price")}
        expected = joined(here, there, how, **condition).table()
        found = pa.Table.from_batches(joined(orders, paid, how, **condition).df.toArrow().to_batches())
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())


def test_a_stream_and_the_stage_after_it_give_what_this_process_gives(spark: SparkSession, tmp_path: Path) -> None:
    """A full join has the time of its windows, so that windows can follow it."""
    one = "maxFilesPerTrigger"
    frames = [spark.readStream.schema(spark.read.parquet(f).schema).option(one, 1).parquet(f) for f in files(tmp_path)]
    batches = (
        pa.RecordBatchReader.from_batches(schema, [b for one in steps for b in table(one, schema).to_batches()])
        for steps, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    query = per_window(joined(*frames, "full")).write_to(
        f"sqlite:///{tmp_path / 't.db'}", checkpoint=str(tmp_path / "cp"), table="t", available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination(240)
    expected = per_window(joined(*batches, "full"))
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT n, paid FROM t").fetchall()
    rows = expected.table().to_pylist()
    assert Counter(found) == Counter((row["n"], row["paid"]) for row in rows)
    assert len(rows) > 3


def per_window(rows: fl.JoinResult) -> fl.RowResult[Any]:
    return rows.window(fl.tumbling("5 s")).agg(n=fl.count(), paid=fl.sum("price_p"))


def test_windows_that_count_over_batch_frames(spark: SparkSession) -> None:
    """No key has more rows than a window, so that the order in which Spark reads says nothing."""
    orders = [(key, number) for number, key in enumerate("abcab")]
    paid = [(key, 10 * number) for number, key in enumerate("bacd")]

    def counted(left: Any, right: Any) -> fl.JoinResult:
        sides = (fl.stream(records, time="ts", name=name).key_by("id") for records, name in ((left, "o"), (right, "p")))
        return next(sides).join(
            next(sides), fl.same_window(fl.counting(2)), how="full", retention=fl.retention("1 day")
        )

    times = "timestamp_seconds(v) AS ts"
    here, there = (
        [{"ts": datetime.fromtimestamp(v, UTC), "id": key, "v": v} for key, v in rows] for rows in (orders, paid)
    )
    frames = [spark.createDataFrame(rows, "id string, v long").selectExpr(times, "id", "v") for rows in (orders, paid)]
    found = pa.Table.from_batches(counted(*frames).df.toArrow().to_batches())
    expected = counted(here, there).table()
    assert found.column_names == expected.column_names
    assert counted_rows(found) == counted_rows(expected)
    assert len(counted_rows(found)) == 6


def counted_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The window, the key, and the values of both sides."""
    return sorted(((row["window"]["start"], row["id"], row["v"], row["v_p"]) for row in rows.to_pylist()), key=repr)


@pytest.mark.parametrize(
    ("kind", "how"),
    [(fl.session("5 us"), "full"), (fl.hopping("10 us", "5 us"), "left"), (fl.counting(3), "full")],
)
def test_the_processor_gives_what_this_process_gives_over_checkpoints(kind: fl.WindowKind, how: How) -> None:
    """The processor that runs on Spark, fed by hand: a step of it is a step here."""
    columns = pa.schema(dict.fromkeys(("ts", "k", "v"), pa.int64()))
    left, right = (fl.stream([], time="ts", unit="us", name=name, delay="0 s") for name in ("o", "p"))
    kept: Any = {"retention": fl.retention("12 us")} if isinstance(kind, fl.Counting) else {}
    spec = left.join(right, fl.same_window(kind), on="k", how=how, **kept).spec
    found = []
    for host in HOSTS.values():
        run, rows = host(spec, dict.fromkeys(("p", "o"), columns)), []
        for second in range(0, 40, 2):
            orders = [{"ts": second, "k": second % 3 or None, "v": second}]
            paid = [{"ts": second + 1, "k": second % 4, "v": second}]
            run.add({name: pa.RecordBatch.from_pylist(came, columns) for name, came in (("p", paid), ("o", orders))})
            if second % 10 == 0:
                run.checkpoint_restore()
            rows += run.take()
        run.end()
        found.append(sorted(map(str, [*rows, *run.take()])))
    assert found[0] == found[1]
    assert len(found[0]) > 40
