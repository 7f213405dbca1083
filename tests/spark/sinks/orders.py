"""Orders that come out of order, pipelines over them, and what their tables hold in the end."""

from __future__ import annotations

import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.bind import bind
from fanlight.sinks.batch import Batch
from fanlight.sinks.delivery import Delivery, DeliveryHere
from fanlight.sinks.result_schema import ACCOUNTING, ResultShape
from fanlight.spark.delivery import SparkDelivery

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int64(), "price": pa.decimal128(10, 2)})
DDL = "ts timestamp, k string, v bigint, price decimal(10,2)"

Declared = Callable[[Any], fl.Result]
Row = dict[str, Any]


def bundle(*records: tuple[int, str | None, int | None]) -> pa.Table:
    """Records as (second, key, value); the price is a quarter of the value."""
    rows = [
        {
            "ts": BASE + timedelta(seconds=second),
            "k": key,
            "v": value,
            "price": None if value is None else Decimal(value) / 4,
        }
        for second, key, value in records
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


BUNDLES = [
    bundle((1, "a", 1), (4, "b", 2), (9, "a", None), (11, None, 4), (3, "a", 5)),
    bundle((25, "a", 6), (8, "b", 7), (14, "c", 8), (26, None, 9)),
    bundle((2, "a", 10), (31, "b", 11), (17, "a", 12), (44, "c", 13)),
    bundle((200, "a", 14), (13, "a", 20), (61, "b", 15)),
    bundle((205, "a", 16), (5, "late", 99)),
    bundle((300, "a", 17), (6, "late", 98)),
]
"""The fourth acts on the watermark of 195 s, so the records of 5 s and 6 s come when their windows have expired."""


def corrected(source: Any) -> fl.Result:
    """Fires early, on time and late, and takes back what it said."""
    return (
        fl.stream(source, time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.hopping("20 seconds", every="10 seconds"), lateness="1 minute")
        .trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), revenue=fl.sum("price"), values=fl.list("v"))
    )


def accumulated(source: Any) -> fl.Result:
    """Without keys, in the one window that has neither start nor end."""
    stream = fl.stream(source, time="ts", delay="5 seconds").window(fl.global_window())
    return stream.trigger(fl.repeat(fl.after(2))).agg(n=fl.count(), top=fl.max("price"))


def increments(source: Any) -> fl.Result:
    """Each firing carries what is new."""
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k")
    windowed = stream.window(fl.tumbling("10 seconds"), lateness="1 minute")
    return windowed.trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1))).discarding().agg(n=fl.count())


def once(source: Any) -> fl.Result:
    """Fires once."""
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k").window(fl.tumbling("10 seconds"))
    return stream.agg(n=fl.count(), revenue=fl.sum("price"))


def shape_of(declared: Declared, schema: pa.Schema = SCHEMA) -> ResultShape:
    spec = declared([]).spec
    return ResultShape.of(spec, bind(spec, schema, lean=True), DeadLetters(schema).schema)


def stepped(declared: Declared, bundles: list[pa.Table]) -> list[pa.Table]:
    """What each step gives on the embedded engine, and last the nothing of a step without records."""
    operator = fl.WindowOperator(declared([]).spec, schema=SCHEMA)
    given = []
    for table in bundles:
        operator.add(table)
        given.append(operator.take())
    return [*given, operator.take()]


def standing(rows: pa.Table, *more: str) -> dict[Any, Row]:
    """The last firing of each (key, window), and of each further field of the pane that is named, row by row."""
    left: dict[Any, Row] = {}
    for row in rows.to_pylist():
        pane = row.pop("pane")
        window = (row["window"]["start"], row["window"]["end"])
        left[(row.get("k"), *window, *(pane[name] for name in more))] = row | {"pane": pane}
    return left


def handed(
    shape: ResultShape,
    number: int,
    rows: pa.Table,
    *,
    query: str = "q",
    letters: pa.Table | None = None,
    watermark: datetime | None = None,
    offsets: int | None = None,
    accepts: bool = False,
) -> Delivery:
    """A batch as a sink on the driver is handed it: such a sink does not ask where it was computed."""
    account = {"batch": number, "shard": 0, "received": 3, "accepted": 2, "duplicates": 0, "dead_letters": 1}
    account["watermark"] = watermark
    batch = Batch(
        query,
        number,
        rows.select(shape.rows.names),
        shape.dead_letters.empty_table() if letters is None else letters,
        pa.Table.from_pylist([account], schema=ACCOUNTING),
        offsets,
    )
    return DeliveryHere(batch, shape, accepts=accepts)


def on_spark(delivery: Delivery, frame: Any) -> Delivery:
    """The same batch as one of a query on Spark; the session of the frame has the JVM."""
    said = {"offsets": delivery.offsets, "accepts": delivery.accepts}
    there = SparkDelivery(delivery.query, delivery.number, frame, delivery.shape, drafts={}, **said)
    there.batch = delivery.batch
    return there


def asked(file: Path, question: str) -> list[tuple[Any, ...]]:
    """What an SQLite file answers."""
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.execute(question))


def put(folder: Path, bundles: list[pa.Table], start: int = 0) -> None:
    """One file a bundle. Spark reads files in the order they were changed, so each says its own second."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(bundles, start):
        file = folder / f"{number:03d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def streamed(spark: SparkSession, folder: Path, declared: Declared) -> fl.Result:
    """The pipeline over the files of a folder, one a micro-batch."""
    return declared(spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder)))


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let this process write no file longer than `size`: to it, the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
