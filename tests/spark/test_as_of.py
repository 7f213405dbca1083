"""As-of joins on Spark: batches and streams give what this process gives."""

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
from fanlight.errors import SpecError

from .test_join import LEFT, ORDERS, PAID, RIGHT, counted, files, table

pytestmark = pytest.mark.slow


def joined(orders: Any, paid: Any, match: fl.AsOf, how: Any) -> fl.JoinResult:
    left = fl.stream(orders, time="ts", delay="2 s", name="o").key_by("id")
    right = fl.stream(paid, time="at", delay="2 s", name="p").key_by("id")
    return left.join(right, match, how=how)


def test_every_direction_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    """A batch is one bundle of each side, so nothing in it is late."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    here = [
        table([event for events in side for event in events], schema)
        for side, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    ]
    for match, how in (
        (fl.as_of("4 s"), "left"),
        (fl.as_of("4 s", "forward"), "inner"),
        (fl.as_of("4 s", "nearest"), "anti"),
        (fl.as_of().within(fl.retention()), "left"),
    ):
        found = pa.Table.from_batches(joined(orders, paid, match, how).df.toArrow().to_batches())
        expected = joined(*here, match, how).table()
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())


def test_a_stream_gives_what_this_process_gives_step_by_step(spark: SparkSession, tmp_path: Path) -> None:
    one, match = "maxFilesPerTrigger", fl.as_of("20 s")
    frames = [spark.readStream.schema(spark.read.parquet(f).schema).option(one, 1).parquet(f) for f in files(tmp_path)]
    query = joined(*frames, match, "left").write_to(
        f"sqlite:///{tmp_path / 't.db'}", checkpoint=str(tmp_path / "cp"), table="t", available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination(240)
    sides = (
        pa.RecordBatchReader.from_batches(
            schema, [batch for some in side for batch in table(some, schema).to_batches()]
        )
        for side, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    expected = joined(*sides, match, "left")
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT price, price_p FROM t").fetchall()
        letters = connection.execute("SELECT reason FROM t_dead_letters").fetchall()
    rows = expected.table().select(["price", "price_p"]).to_pylist()
    assert Counter(found) == Counter((row["price"], row["price_p"]) for row in rows)
    assert sorted(reason for (reason,) in letters) == sorted(expected.dead_letters["reason"].to_pylist())


def test_aggregates_of_matches_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    """Each order with what was paid within five seconds, without pairs."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))

    def aggregated(left: Any, right: Any) -> fl.JoinResult:
        sides = (
            fl.stream(left, time="ts", delay="0 s", name="o").key_by("id"),
            fl.stream(right, time="at", delay="0 s", name="p").key_by("id"),
        )
        joined = sides[0].join(sides[1], fl.interval("-1 s", "5 s"), how="left")
        return joined.agg(n=fl.count(), most=fl.max("p.price"), prices=fl.list("p.price"))

    here = (
        table([event for events in side for event in events], kind) for side, kind in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    found = pa.Table.from_batches(aggregated(orders, paid).df.toArrow().to_batches())
    assert counted(found.to_pylist()) == counted(aggregated(*here).table().to_pylist())


def test_tables_with_versions_and_without_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """A payment is the version of its id, that of 14 a delete; beside a stream a table without a time is refused."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    left, right = (
        table([event for events in side for event in events], kind) for side, kind in ((LEFT, ORDERS), (RIGHT, PAID))
    )
    ops = ["-D" if price == 14 else "+I" for price in right.column("price").to_pylist()]

    def versions(some: Any, rates: Any) -> fl.JoinResult:
        valid = fl.table(rates, key="id", time="at", delay="2 s", op="op", name="p")
        return fl.stream(some, time="ts", delay="2 s", name="o").key_by("id").join(valid, fl.version(), how="left")

    def still(some: Any, names: Any) -> fl.JoinResult:
        named = fl.table(names, key="id", name="p")
        return fl.stream(some, time="ts", delay="2 s", name="o").key_by("id").join(named, how="left")

    names = spark.createDataFrame([("a", "Anna"), ("b", "Bert")], "id string, long string")
    for declared, ours, theirs in (
        (versions, right.append_column("op", pa.array(ops)), paid.selectExpr("*", "if(price = 14, '-D', '+I') AS op")),
        (still, pa.table({"id": ["a", "b"], "long": ["Anna", "Bert"]}), names),
    ):
        found = pa.Table.from_batches(declared(orders, theirs).df.toArrow().to_batches())
        expected = declared(left, ours).table()
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())
    streaming = spark.readStream.schema(orders.schema).parquet(str(tmp_path / "orders"))
    with pytest.raises(SpecError, match="Spark does not unite these"):
        still(streaming, names)
