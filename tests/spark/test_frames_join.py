"""`left.join(right, frames(…))` on Spark: over batch DataFrames, as a stream, and step by step, as in this process."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.checkpoint.join_inspection import JoinInspection
from fanlight.testing.vectors.join.hosts import HOSTS

from .test_join import LEFT, ORDERS, PAID, RIGHT, counted, files, table

pytestmark = pytest.mark.slow
TWO = fl.frames(o=fl.range("20 s"), p=fl.rows(2))
NEAR = fl.frames(o=fl.range("20 s"), p=fl.range("9 s"))
OF_SIDE = fl.frames(o=fl.unbounded(), p=fl.range("15 s"), per="stream")
"""The same whatever the order in which Spark reads the files of a batch."""
OF_STREAM = fl.frames(o=fl.unbounded(), p=fl.rows(3), per="stream", within=fl.interval("-10 s", "10 s"))
KEPT = fl.retention("30 s")
ADDED = pa.schema({"id": pa.string(), "both": pa.int64()})


def joined(orders: Any, paid: Any, match: fl.Frames) -> fl.JoinResult:
    left = fl.stream(orders, time="ts", delay="2 s", name="o").key_by("id")
    right = fl.stream(paid, time="at", delay="2 s", name="p").key_by("id")
    return left.join(right, match, retention=KEPT)


def test_windows_of_keys_and_of_sides_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    """A batch is one bundle of each side: left rows find the right window after all right rows."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))

    def added(matches: pa.Table) -> pa.Table:
        return pa.table({"id": matches["id"], "both": pc.add(matches["price"], matches["price_p"])})

    here = [
        table([event for events in side for event in events], kind) for side, kind in ((LEFT, ORDERS), (RIGHT, PAID))
    ]
    for declared in (
        lambda left, right: joined(left, right, NEAR),
        lambda left, right: joined(left, right, OF_SIDE),
        lambda left, right: joined(left, right, NEAR).batch(added, ADDED),
    ):
        found = pa.Table.from_batches(declared(orders, paid).df.toArrow().to_batches())
        expected = declared(*here).table()
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())
        assert expected.num_rows > 1


def test_a_stream_gives_what_this_process_gives(spark: SparkSession, tmp_path: Path) -> None:
    one = "maxFilesPerTrigger"
    frames = [spark.readStream.schema(spark.read.parquet(f).schema).option(one, 1).parquet(f) for f in files(tmp_path)]
    said = {"checkpoint": str(tmp_path / "cp"), "table": "t", "available_now": True}
    for flush in (False, True):
        query = joined(*frames, TWO).write_to(f"sqlite:///{tmp_path / 't.db'}", flush=flush, **said)
        assert query is not None
        query.awaitTermination(240)
        if not flush:
            assert_checkpoint_has_the_windows(spark, str(tmp_path / "cp"))
    sides = (
        pa.RecordBatchReader.from_batches(
            schema, [batch for some in side for batch in table(some, schema).to_batches()]
        )
        for side, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    expected = joined(*sides, TWO)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT price, price_p FROM t").fetchall()
    rows = expected.table().select(["price", "price_p"]).to_pylist()
    assert Counter(found) == Counter((row["price"], row["price_p"]) for row in rows)
    assert len(rows) > 3


def assert_checkpoint_has_the_windows(spark: SparkSession, checkpoint: str) -> None:
    """What windows of keys hold after the last batch: of `o` the last 20 s, of `p` the two that came last."""
    seen = fl.inspect(checkpoint, spark=spark)
    assert isinstance(seen, JoinInspection)
    operator = joined([], [], TWO).operator()
    for orders, paid in zip(LEFT, RIGHT, strict=True):
        operator.add(table(paid, PAID), source="p")
        operator.add(table(orders, ORDERS), source="o")
    for side, held in operator.kept().items():
        assert sorted(row["price"] for row in seen.kept(side).collect()) == sorted(held["price"].to_pylist())
        assert held.num_rows


@pytest.mark.parametrize("match", [TWO, OF_STREAM], ids=["key", "stream"])
def test_the_processor_gives_what_this_process_gives_over_checkpoints(match: fl.Frames) -> None:
    """The processor that runs on Spark, fed by hand: a step of it is a step here; pairs wait for its clock."""
    columns = pa.schema(dict.fromkeys(("ts", "k", "v"), pa.int64()))
    left, right = (fl.stream([], time="ts", unit="s", name=name, delay="0 s", ahead=None) for name in ("o", "p"))
    spec = left.join(right, match, on="k", retention=KEPT).updates(early=fl.every("10 s")).spec
    found = []
    for host in HOSTS.values():
        run, rows = host(spec, dict.fromkeys(("p", "o"), columns)), []
        for second in range(0, 60, 2):
            orders = [{"ts": second, "k": second % 3 or None, "v": second}]
            paid = [{"ts": second + 1, "k": second % 4, "v": second}]
            run.tick(second * 1_000_000)
            run.add({name: pa.RecordBatch.from_pylist(came, columns) for name, came in (("p", paid), ("o", orders))})
            if second % 10 == 0:
                run.checkpoint_restore()
            rows.append(sorted(map(str, run.take())))
        rows.append([str(held.to_pylist()) for held in run.kept().values()])
        run.end()
        found.append([*rows, sorted(map(str, run.take()))])
    assert found[0] == found[1]
    assert sum(map(len, found[0])) > 20
