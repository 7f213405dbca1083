"""`left.join(right, …)` on Spark: every type over batch DataFrames, and streams step by step, as in this process."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.errors import InputError
from fanlight.spark.checkpoint.join_inspection import JoinInspection
from fanlight.viz import timeline

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = pa.schema({"ts": pa.timestamp("us", "UTC"), "id": pa.string(), "price": pa.int64()})
PAID = pa.schema({"at": pa.timestamp("us", "UTC"), "id": pa.string(), "price": pa.int64()})

Event = tuple[int | None, str | None, int]
"""Second, id, price."""
LEFT: list[list[Event]] = [
    [(4, "a", 1), (2, "b", 2), (9, None, 3), (None, "a", 4)],
    [(12, "a", 5), (11, "c", 6), (1, "a", 7)],
    [(40, "b", 8), (30, "a", 9)],
]
RIGHT: list[list[Event]] = [
    [(6, "a", 10), (3, "c", 11)],
    [(13, "a", 12), (9, "b", 13), (8, "a", 14)],
    [(33, "a", 15), (31, "d", 16), (2, "b", 17)],
]
"""Three micro-batches of each side. With a delay of 2 s the left watermark is 7 and 10 after the first two, the right
one 4 and 11: the order of 1 and the payment of 2 are expired.
"""
How = Literal["inner", "left", "right", "full", "semi", "anti"]


def table(events: list[Event], schema: pa.Schema) -> pa.Table:
    times = [None if second is None else BASE + timedelta(seconds=second) for second, _, _ in events]
    columns = [times, [name for _, name, _ in events], [price for _, _, price in events]]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)


def files(folder: Path) -> tuple[str, str]:
    """A folder of files for each side: Spark reads them in the order of their times."""
    for name, batches, schema in (("orders", LEFT, ORDERS), ("paid", RIGHT, PAID)):
        (folder / name).mkdir()
        for number, events in enumerate(batches):
            file = folder / name / f"{number}.parquet"
            pq.write_table(table(events, schema), file)
            os.utime(file, (1_700_000_000 + number,) * 2)
    return str(folder / "orders"), str(folder / "paid")


def joined(orders: Any, paid: Any, how: How, **more: Any) -> fl.JoinResult:
    left = fl.stream(orders, time="ts", delay="2 s", name="o").key_by("id")
    right = fl.stream(paid, time="at", delay="2 s", name="p").key_by("id")
    return left.join(right, fl.interval("-1 s", "5 s"), how=how, **more)


def here(how: How, **more: Any) -> fl.JoinResult:
    """The same in this process, a bundle of each side a micro-batch."""
    return joined(
        pa.RecordBatchReader.from_batches(ORDERS, [b for one in LEFT for b in table(one, ORDERS).to_batches()]),
        pa.RecordBatchReader.from_batches(PAID, [b for one in RIGHT for b in table(one, PAID).to_batches()]),
        how,
        **more,
    )


def whole(how: How, **more: Any) -> fl.JoinResult:
    """The same in this process, all of each side as one bundle."""
    orders = table([event for events in LEFT for event in events], ORDERS)
    return joined(orders, table([event for events in RIGHT for event in events], PAID), how, **more)


def counted(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(str(value) for value in row.values()) for row in rows)


def test_every_type_over_batch_frames(spark: SparkSession, tmp_path: Path) -> None:
    """A batch is one bundle of each side, so nothing in it is late; the order without a time is a dead letter."""
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        result = joined(orders, paid, how, where=fl.col("price") < fl.col("p.price"))
        expected = whole(how, where=fl.col("price") < fl.col("p.price")).table()
        found = pa.Table.from_batches(result.df.toArrow().to_batches())
        assert found.column_names == expected.column_names
        assert counted(found.to_pylist()) == counted(expected.to_pylist())
    (letter,) = result.dead_letters.collect()
    assert letter["reason"] == "null_time"
    assert letter["record"]["o"]["price"] == 4
    assert letter["record"]["p"] is None


@pytest.mark.parametrize(("how", "mode"), [("full", "on_close"), ("left", "eager")])
def test_a_stream_gives_what_this_process_gives_step_by_step(
    spark: SparkSession, tmp_path: Path, how: How, mode: str
) -> None:
    one = "maxFilesPerTrigger"
    frames = [spark.readStream.schema(spark.read.parquet(f).schema).option(one, 1).parquet(f) for f in files(tmp_path)]
    result = getattr(joined(*frames, how), mode)()
    query = result.write_to(
        f"sqlite:///{tmp_path / 't.db'}", checkpoint=str(tmp_path / "cp"), table="t", available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination(240)
    expected = getattr(here(how), mode)()
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT price, price_p FROM t").fetchall()
        letters = connection.execute("SELECT reason FROM t_dead_letters").fetchall()
    rows = expected.table().select(["price", "price_p"]).to_pylist()
    assert Counter(found) == Counter((row["price"], row["price_p"]) for row in rows)
    assert sorted(reason for (reason,) in letters) == sorted(expected.dead_letters["reason"].to_pylist())
    assert sorted(expected.dead_letters["reason"].to_pylist()) == ["expired", "expired", "null_time"]


CHANGED = ORDERS.append(pa.field("op", pa.string()))
CHANGES: list[list[tuple[int, str, int, str]]] = [
    [(4, "a", 1, "+I"), (2, "b", 2, "+I"), (9, "c", 3, "+I")],
    [(5, "a", 1, "+U"), (11, "c", 4, "+I"), (9, "c", 3, "-D")],
    [(12, "d", 2, "+U"), (30, "a", 5, "+I"), (11, "c", 4, "-D"), (0, "z", 9, "-D")],
]
"""Orders by their price: 1 is moved by a second, 2 gets another id, 3 and 4 are taken back, 9 never was."""


def test_its_plan_shows_both_sides_and_their_exchange_and_its_run_is_not_drawn(
    spark: SparkSession, tmp_path: Path
) -> None:
    orders, paid = (spark.read.parquet(folder) for folder in files(tmp_path))
    result = joined(orders, paid, "left")
    (runs,) = re.findall(r"one exchange to \S+ shards? ?(?:by key)?", result.explain())
    picture = result.explain("svg")
    assert f">{runs.strip()}<" in picture
    assert picture.count(": a batch DataFrame<") == 2
    assert f"↓ {runs.strip()}<" in result.explain("html")
    with pytest.raises(fl.OtherEngine, match=r"this join runs on Spark.*Declare it over lists of records"):
        timeline(result)


def changed(orders: Any, paid: Any) -> fl.JoinResult:
    """The delay covers all that the changes change."""
    left = fl.stream(orders, time="ts", delay="20 s", name="o", op="op", unique="price").key_by("id")
    right = fl.stream(paid, time="at", delay="20 s", name="p").select("at", "id", cents="price").key_by("id")
    return left.join(right, fl.interval("0 s", "2 s"), how="left")


def test_changes_in_and_a_table_that_is_kept_up_to_date(spark: SparkSession, tmp_path: Path) -> None:
    """The table has what leaves on close in the end. Order 2 moves to another key, and so to another shard."""
    _, paid = files(tmp_path)
    (tmp_path / "changes").mkdir()
    batches = [pa.Table.from_pylist([_change(one) for one in some], schema=CHANGED) for some in CHANGES]
    for number, batch in enumerate(batches):
        pq.write_table(batch, tmp_path / "changes" / f"{number}.parquet")
        os.utime(tmp_path / "changes" / f"{number}.parquet", (1_700_000_000 + number,) * 2)
    frames = [
        spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1).parquet(folder)
        for folder in (str(tmp_path / "changes"), paid)
    ]
    said = {"checkpoint": str(tmp_path / "cp"), "table": "t", "unique": ("id", "price"), "available_now": True}
    for flush in (False, True):
        query = changed(*frames).retracting().write_to(f"sqlite:///{tmp_path / 't.db'}", flush=flush, **said)
        assert query is not None
        query.awaitTermination(240)
        if not flush:
            assert_checkpoint_tells(spark, str(tmp_path / "cp"))
    here_paid = pa.RecordBatchReader.from_batches(PAID, [b for one in RIGHT for b in table(one, PAID).to_batches()])
    here_orders = pa.RecordBatchReader.from_batches(CHANGED, [b for one in batches for b in one.to_batches()])
    expected = changed(here_orders, here_paid)
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        found = connection.execute("SELECT price, id, cents FROM t").fetchall()
        letters = connection.execute("SELECT reason FROM t_dead_letters").fetchall()
    rows = expected.table().select(["price", "id", "cents"]).to_pylist()
    assert sorted(found, key=str) == sorted((tuple(row.values()) for row in rows), key=str)
    assert sorted(found, key=str) == [(1, "a", 10), (2, "d", None), (5, "a", None)]
    assert letters == [("no_such_row",)]


def assert_checkpoint_tells(spark: SparkSession, checkpoint: str) -> None:
    """The watermark of orders is 10 s, that of payments 13 s: the later order 2 is kept, and waits for its payment."""
    seen = fl.inspect(checkpoint, spark=spark)
    assert isinstance(seen, JoinInspection)
    kept = {row["price"]: row["ts"].second for row in seen.kept("o").collect()}
    assert kept == {2: 12, 5: 30}
    with pytest.raises(InputError, match=r"kept\('o'\) or kept\('p'\)"):
        seen.messages()
    order = {"ts": BASE + timedelta(seconds=12), "id": "d", "price": 2}
    late, soon = ({"at": BASE + timedelta(seconds=second), "id": "d", "cents": 1} for second in (12, 14))
    assert str(fl.why(checkpoint, left=order, right=soon, spark=spark)).startswith("waiting: the row of p has not come")
    assert str(fl.why(checkpoint, left=order, right=late, spark=spark)).startswith("late: the row of p has not come")
    assert fl.why(checkpoint, left=order, right={**soon, "id": "a"}).verdict is fl.JoinVerdict.OTHER_KEY


def _change(one: tuple[int, str, int, str]) -> dict[str, Any]:
    second, name, price, op = one
    return {"ts": BASE + timedelta(seconds=second), "id": name, "price": price, "op": op}
