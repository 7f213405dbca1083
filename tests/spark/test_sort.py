"""`stream.sort()` on Spark: the rows of a shard in order, or all rows, from a batch DataFrame and from a stream."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "shop": pa.string(), "id": pa.int64(), "price": pa.float64()})
DDL = "ts timestamp, shop string, id bigint, price double"

Order = tuple[int | None, str, int]
"""Second, shop, id."""
FIRST: list[Order] = [(4, "a", 1), (2, "b", 2), (2, "a", 3), (None, "a", 4), (3, "c", 5)]
SECOND: list[Order] = [(9, "a", 6), (5, "b", 7), (5, "b", 2)]
THIRD: list[Order] = [(6, "c", 8), (8, "b", 9), (3, "a", 10)]
"""Three micro-batches with a delay of 2 s: the watermark is 2 after the first and 7 after the second. So of the third
6 and 3 are expired.
"""
IN_TIME = [one for one in [*FIRST, *SECOND, *THIRD] if one[0] is not None]


def table(*orders: Order) -> pa.Table:
    times = [None if second is None else BASE + timedelta(seconds=second) for second, _, _ in orders]
    columns = [
        times,
        [shop for _, shop, _ in orders],
        [one for _, _, one in orders],
        [1.5 * one for _, _, one in orders],
    ]
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def put(folder: Path, number: int, orders: list[Order]) -> None:
    """The next micro-batch: Spark reads files in the order of their times."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.parquet"
    pq.write_table(table(*orders), file)
    os.utime(file, (1_700_000_000 + number,) * 2)


def batch(spark: SparkSession, folder: Path) -> DataFrame:
    for number, orders in enumerate((FIRST, SECOND, THIRD)):
        put(folder / "in", number, orders)
    return spark.read.schema(DDL).parquet(str(folder / "in"))


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))


def orders(rows: list[Any]) -> list[Order]:
    return [(int(row["ts"].timestamp() - BASE.timestamp()), row["shop"], row["id"]) for row in rows]


def run(result: fl.RowResult[Any], target: Any, folder: Path, **options: Any) -> None:
    query = result.write_to(target, checkpoint=str(folder / "checkpoint"), available_now=True, **options)
    assert query is not None
    query.awaitTermination(240)
    assert not query.isActive


class TestBatch:
    """All records are one bundle: none is expired, and all leave."""

    def test_all_rows_in_one_order_with_the_columns_that_came(self, spark: SparkSession, tmp_path: Path) -> None:
        source = batch(spark, tmp_path)
        result = fl.stream(source, time="ts", delay="2 seconds").key_by("shop").sort("shop", "id", order="total")
        assert result.df.schema == source.schema
        assert orders(result.df.collect()) == sorted(IN_TIME)
        assert "all rows in one order" in result.explain()

    def test_the_rows_of_a_key_are_in_order(self, spark: SparkSession, tmp_path: Path) -> None:
        result = fl.stream(batch(spark, tmp_path), time="ts", delay="0 s").key_by("shop").sort("id")
        left = orders(result.df.collect())
        by_shop = defaultdict(list)
        for order in left:
            by_shop[order[1]].append(order)
        assert sorted(left) == sorted(IN_TIME)
        assert all(first <= then for shop in by_shop.values() for first, then in pairwise(shop))

    def test_what_is_no_row_is_a_letter_and_all_adds_up(self, spark: SparkSession, tmp_path: Path) -> None:
        result = fl.stream(batch(spark, tmp_path), time="ts", delay="0 s").sort()
        (letter,) = result.dead_letters.collect()
        assert (letter["reason"], letter["record"]["id"]) == ("null_time", 4)
        (account,) = result.accounts.collect()
        assert (account["received"], account["accepted"], account["dead_letters"]) == (11, 10, 1)

    def test_a_file_of_lines_has_the_order(self, spark: SparkSession, tmp_path: Path) -> None:
        fl.stream(batch(spark, tmp_path), time="ts", delay="0 s").sort("id").write_to(tmp_path / "sorted.jsonl")
        lines = [json.loads(line) for line in (tmp_path / "sorted.jsonl").read_text().splitlines()]
        assert [line["id"] for line in lines] == [
            one for _, _, one in sorted(IN_TIME, key=lambda one: (one[0], one[2]))
        ]


class TestStream:
    """Three micro-batches, and a restart after the second."""

    SORTED: tuple[Order, ...] = ((2, "b", 2), (2, "a", 3), (3, "c", 5), (4, "a", 1), (5, "b", 7), (5, "b", 2))
    REST: tuple[Order, ...] = ((8, "b", 9), (9, "a", 6))

    def written(self, spark: SparkSession, folder: Path, target: Any, **options: Any) -> None:
        for number, orders in enumerate((FIRST, SECOND)):
            put(folder / "in", number, orders)
        run(self.sorted(spark, folder), target, folder, **options)
        put(folder / "in", 2, THIRD)
        run(self.sorted(spark, folder), target, folder, flush=True, **options)

    def sorted(self, spark: SparkSession, folder: Path) -> fl.RowResult[fl.SortSpec]:
        return fl.stream(stream(spark, folder), time="ts", delay="2 seconds").sort()

    def test_rows_are_added_in_order_and_the_rest_is_accounted_for(self, spark: SparkSession, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        self.written(spark, tmp_path, f"sqlite:///{file}", table="orders")
        with closing(sqlite3.connect(file)) as connection:
            left = connection.execute("SELECT id FROM orders ORDER BY rowid").fetchall()
            letters = connection.execute("SELECT reason, record FROM orders_dead_letters").fetchall()
            counted = connection.execute(
                "SELECT sum(received), sum(accepted), sum(dead_letters) FROM orders_accounting"
            ).fetchall()
        assert [one for (one,) in left] == [one for _, _, one in (*self.SORTED, *self.REST)]
        assert sorted((reason, json.loads(record)["id"]) for reason, record in letters) == [
            ("expired", 8),
            ("expired", 10),
            ("null_time", 4),
        ]
        assert counted == [(11, 8, 3)]
        with pytest.raises(fl.InputError, match="inspect: this pipeline keeps no windows"):
            fl.inspect(tmp_path / "checkpoint")

    def test_the_last_in_time_is_the_one_row_of_its_id(self, spark: SparkSession, tmp_path: Path) -> None:
        """Order 2 came at 2 and at 5: the later row stands."""
        file = tmp_path / "t.db"
        self.written(spark, tmp_path, f"sqlite:///{file}", table="orders", unique="id")
        with closing(sqlite3.connect(file)) as connection:
            left = dict(connection.execute("SELECT id, ts FROM orders").fetchall())
        assert sorted(left) == [1, 2, 3, 5, 6, 7, 9]
        assert "00:00:05" in left[2]
