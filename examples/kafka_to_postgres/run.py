"""From a topic of Kafka through a window to PostgreSQL.

    PGPASSWORD=… python examples/kafka_to_postgres/run.py --postgres jdbc:postgresql://127.0.0.1:5432/shop --user me

starts a broker, puts a few orders into a topic, and writes their totals by product and minute into the table `totals`.
With `--kafka host:9092 --topic orders` it reads a topic of yours instead, as JSON {"ts": …, "product": …, "price": …},
and goes on until it is stopped; `--once` takes what is there and ends.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from typing import Any

from broker import broker
from jars import jars
from pyspark.sql import DataFrame, SparkSession, functions

import fanlight as fl
from fanlight.spark.session import spark_session

COLUMNS = "ts timestamp, product string, price decimal(10,2)"
ORDERS = [
    {"ts": "2026-03-01T12:00:10Z", "product": "tea", "price": "3.00"},
    {"ts": "2026-03-01T12:00:40Z", "product": "coffee", "price": "4.50"},
    {"ts": "2026-03-01T12:01:05Z", "product": "tea", "price": "2.50"},
    {"ts": "2026-03-01T12:00:50Z", "product": "tea", "price": "3.50"},  # out of order
    {"ts": "2026-03-01T12:02:30Z", "product": "coffee", "price": "5.00"},
]


def totals(orders: DataFrame) -> fl.Result:
    """The pipeline: revenue by product and minute, corrected for an hour."""
    return (
        fl.stream(orders, time="ts", delay="10 seconds")
        .key_by("product")
        .window(fl.tumbling("1 minute"), lateness="1 hour")
        .trigger(fl.at_watermark(late=fl.after(1)))
        .agg(n=fl.count(), revenue=fl.sum("price"))
    )


def read(spark: SparkSession, kafka: str, topic: str) -> DataFrame:
    """The topic as columns; a message that is no JSON has nulls, and becomes a dead letter."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", topic)
    messages = reader.option("startingOffsets", "earliest").load()
    parsed = functions.from_json(functions.col("value").cast("string"), COLUMNS)
    return messages.select(parsed.alias("order")).select("order.*")


def produce(spark: SparkSession, kafka: str, topic: str) -> None:
    """Put the example's orders into a topic."""
    messages = spark.createDataFrame([(json.dumps(order),) for order in ORDERS], "value string")
    messages.write.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", topic).save()


def main() -> None:
    """Read the options, start what is missing, and write."""
    options = _options()
    with ExitStack() as stack:
        kafka = options.kafka or stack.enter_context(broker())
        spark = spark_session(
            spark_driver_bindAddress="127.0.0.1",
            spark_driver_host="127.0.0.1",
            spark_jars=",".join(map(str, jars("connector"))),
            spark_ui_enabled="false",
        )
        stack.callback(spark.stop)
        checkpoint = options.checkpoint or stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        if options.kafka is None:
            produce(spark, kafka, options.topic)
        once: dict[str, Any] = {}
        if options.once or options.kafka is None:
            once = {"available_now": True, "flush": options.kafka is None}
        login = {"user": options.user, "password": os.environ.get("PGPASSWORD", ""), "driver": "org.postgresql.Driver"}
        query = totals(read(spark, kafka, options.topic)).write_to(
            options.postgres, table="totals", properties=login, checkpoint=checkpoint, **once
        )
        assert query is not None  # a stream has one
        query.awaitTermination()
        as_stored = login | {"preferTimestampNTZ": "true"}  # times are in UTC there, whatever the zone of this machine
        table = spark.read.jdbc(options.postgres, "totals", properties=as_stored)
        table.orderBy("window_start", "product").select("window_start", "product", "n", "revenue").show(truncate=False)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="From a topic of Kafka through a window to PostgreSQL.")
    parser.add_argument("--postgres", required=True, help="jdbc:postgresql://host:port/database")
    parser.add_argument("--user", required=True, help="the user of the database; the password is in PGPASSWORD")
    parser.add_argument("--kafka", help="host:port of your broker; without it one is started, with a few orders")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--once", action="store_true", help="take what is there and end")
    parser.add_argument("--checkpoint", help="where a query of yours keeps its state; without it, nowhere for long")
    return parser.parse_args()


if __name__ == "__main__":
    main()
