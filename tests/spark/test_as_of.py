"""As-of joins on Spark: batches and streams give what this process gives."""

from __future__ import annotations

import os
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


def test_ready_holds_the_rows_of_a_stream_until_the_table_has_caught_up(spark: SparkSession, tmp_path: Path) -> None:
    """The second row of the table is late by an hour, and is taken: the table has not reached the day after."""
    orders = [(10, "a", 1), (20, "a", 2), (100_000, "a", 3)]
    rates = [(15, "a", 5), (3_700, "b", 7), (0, "a", 6), (90_000, "b", 8), (110_000, "b", 9)]
    for name, rows in (("orders", orders), ("rates", rates)):
        for number, row in enumerate(rows):
            frame = spark.createDataFrame([row], "s long, id string, v long").selectExpr(
                "timestamp_seconds(s) AS ts", "id", "v"
            )
            frame.coalesce(1).write.mode("append").parquet(str(tmp_path / name / f"{number}"))

    def joined(**more: Any) -> list[tuple[Any, ...]]:
        left, right = (
            spark.readStream.schema("ts timestamp, id string, v long")
            .option("maxFilesPerTrigger", 1)
            .option("recursiveFileLookup", True)
            .parquet(str(tmp_path / name))
            for name in ("orders", "rates")
        )
        o = fl.stream(left, time="ts", delay="0 s", name="o").key_by("id")
        valid = fl.table(right, key="id", time="ts", delay="0 s", name="r")
        place = tmp_path / f"{len(more)}"
        query = o.join(valid, fl.version(), how="left", **more).write_to(
            f"sqlite:///{place}.db", checkpoint=f"{place}-cp", table="t", available_now=True, flush=True
        )
        assert query is not None
        query.awaitTermination(240)
        with closing(sqlite3.connect(f"{place}.db")) as connection:
            return sorted(connection.execute("SELECT v, v_r FROM t").fetchall())

    assert joined(ready="1970-01-02T00:00Z") == [(1, 6), (2, 5), (3, 5)]
    assert joined() == [(1, None), (2, 5), (3, 5)]


def test_a_table_that_is_written_anew(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is an edition, from the time on at which it was written; the second, ten seconds later, has no SEK."""
    (tmp_path / "editions").mkdir()
    for at, text in ((0, "EUR,1\nSEK,2\n"), (10, "EUR,3\n"), (60, "USD,4\n")):
        edition = tmp_path / "editions" / f"{at}.csv"
        edition.write_text(text)
        os.utime(edition, (at, at))
    asked = [(at, currency) for at in (5, 12, 25) for currency in ("EUR", "SEK")]
    frame = spark.createDataFrame([*asked, (100, "EUR")], "s long, id string")
    frame.coalesce(1).write.parquet(str(tmp_path / "asked"))
    source = spark.readStream.schema("s long, id string").parquet(str(tmp_path / "asked"))
    o = fl.stream(source.selectExpr("timestamp_seconds(s) AS ts", "*"), time="ts", delay="0 s", name="o").key_by("id")
    editions = (
        spark.readStream.schema("id string, v long")
        .option("maxFilesPerTrigger", 1)
        .csv(str(tmp_path / "editions"))
        .selectExpr("*", "_metadata.file_modification_time AS at")
    )
    table = fl.table(editions, key="id", time="at", delay="0 s", name="r")
    query = o.join(table, fl.version(refresh="10 s"), how="left").write_to(
        f"sqlite:///{tmp_path / 't.db'}", checkpoint=str(tmp_path / "cp"), table="t", available_now=True
    )
    assert query is not None
    query.awaitTermination(240)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT s, id, v FROM t").fetchall()
    expected = [(5, "EUR", 1), (5, "SEK", 2), (12, "EUR", 3), (12, "SEK", None), (25, "EUR", None), (25, "SEK", None)]
    assert sorted(found) == expected


def test_results_ask_tables_and_are_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Windows of both sides: as versions, as the nearest rows, and beside a table without a time."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    here = [
        table([event for events in side for event in events], schema)
        for side, schema in ((LEFT, ORDERS), (RIGHT, PAID))
    ]
    names = [{"id": "a", "long": "Anna"}, {"id": "b", "long": "Bert"}]

    def results(left: Any, right: Any, still: Any) -> list[fl.JoinResult]:
        o, p = (
            fl.stream(records, time=time, delay="2 s", name=name).key_by("id")
            for records, time, name in ((left, "ts", "o"), (right, "at", "p"))
        )
        per_five = o.window(fl.tumbling("5 s")).agg(n=fl.count()).key_by("id")
        paid_per_five = p.window(fl.tumbling("5 s")).agg(paid=fl.sum("price")).key_by("id")
        return [
            per_five.join(p, fl.version(), how="left"),
            o.join(paid_per_five, fl.version(), how="left"),
            per_five.join(paid_per_five, fl.as_of("10 s", "nearest"), how="left"),
            per_five.join(fl.table(still, key="id", name="names"), how="left"),
        ]

    frame = spark.createDataFrame([(one["id"], one["long"]) for one in names], "id string, long string")
    for ours, theirs in zip(results(*here, names), results(orders, paid, frame), strict=True):
        found = pa.Table.from_batches(theirs.df.toArrow().to_batches())
        expected = ours.table()
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())
