"""A result that is corrected, kept up to date in a table of a lake by MERGE: Delta with Spark 4.2, Iceberg with 4.1.

    python examples/lake.py delta lake/       # in an environment with PySpark 4.2
    python examples/lake.py iceberg lake/     # in one with PySpark 4.1

Orders come in three batches; windows fire early, on time and late, and the table has the last word of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, functions

import fanlight as fl
from fanlight.sinks.batch import Batch
from fanlight.spark.session import spark_session


@dataclass(frozen=True)
class Lake:
    """A lake format: its package, its settings with `{folder}` for where the tables are, and a table of it."""

    package: str
    settings: dict[str, str]
    table: str
    kind: str


LAKES = {
    "delta": Lake(
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.warehouse.dir": "{folder}",
        },
        "totals",
        "delta",
    ),
    "iceberg": Lake(
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": "{folder}",
        },
        "lake.shop.totals",
        "iceberg",
    ),
}

KEY = ["product", "window_start"]
"""What a row of the table is known by."""


def orders() -> list[pa.Table]:
    """Three bundles; the second closes the first window, and the third corrects it."""

    def bundle(*rows: tuple[str, str, int]) -> pa.Table:
        times = [datetime.fromisoformat(f"2026-03-01T{time}Z") for time, _, _ in rows]
        schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "product": pa.string(), "price": pa.int64()})
        return pa.table([times, [row[1] for row in rows], [row[2] for row in rows]], schema=schema)

    return [
        bundle(("12:00:10", "tea", 3), ("12:00:30", "coffee", 4), ("12:00:40", "tea", 2)),
        bundle(("12:01:20", "tea", 5), ("12:02:10", "coffee", 6)),
        bundle(("12:00:50", "tea", 7)),
    ]


def totals(source: object) -> fl.Result:
    """The pipeline: every firing takes the one before it back."""
    return (
        fl.stream(source, time="ts", delay="10 seconds")
        .key_by("product")
        .window(fl.tumbling("1 minute"), lateness="1 hour")
        .trigger(fl.at_watermark(early=fl.after(1), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), revenue=fl.sum("price"))
    )


def merging(spark: SparkSession, table: str) -> Callable[[pa.Table, Batch], None]:
    """The function that `write_to` calls with each batch. A batch that comes again changes nothing."""

    def merge(rows: pa.Table, _: Batch) -> None:
        if len(rows) == 0:
            return
        last_changes(spark, rows).createOrReplaceTempView("changes")
        same = " AND ".join(f"kept.{name} <=> changes.{name}" for name in KEY)
        spark.sql(f"""
            MERGE INTO {table} AS kept USING changes ON {same}
            WHEN MATCHED AND changes.op IN ('-U', '-D') THEN DELETE
            WHEN MATCHED THEN UPDATE SET n = changes.n, revenue = changes.revenue
            WHEN NOT MATCHED AND changes.op IN ('+I', '+U') THEN INSERT (product, window_start, n, revenue)
                VALUES (changes.product, changes.window_start, changes.n, changes.revenue)
        """)

    return merge


def last_changes(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """The last change of each key and window: MERGE takes one row for one."""
    flat = pa.table(
        {
            "product": rows["product"],
            "window_start": pc.struct_field(rows["window"], "start"),
            "op": pc.struct_field(rows["pane"], "op"),
            "n": rows["n"],
            "revenue": rows["revenue"],
        }
    )
    last = flat.append_column("place", pa.array(range(len(flat)))).group_by(KEY).aggregate([("place", "max")])
    return spark.createDataFrame(flat.take(last["place_max"].sort()))


def main() -> None:
    """Write the orders through the pipeline into the table, and show it."""
    parser = argparse.ArgumentParser(description="A result kept up to date in a table of a lake.")
    parser.add_argument("lake", choices=LAKES)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    lake, folder = LAKES[options.lake], options.folder.resolve()
    spark = spark_session(
        settings={name: value.format(folder=folder / "tables") for name, value in lake.settings.items()},
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_jars_packages=lake.package,
        spark_ui_enabled="false",
    )
    columns = "product STRING, window_start TIMESTAMP, n BIGINT, revenue BIGINT"
    spark.sql(f"CREATE TABLE IF NOT EXISTS {lake.table} ({columns}) USING {lake.kind}")
    (folder / "orders").mkdir(parents=True)
    for number, bundle in enumerate(orders()):
        pq.write_table(bundle, folder / "orders" / f"{number}.parquet")
    reader = spark.readStream.schema("ts timestamp, product string, price bigint").option("maxFilesPerTrigger", 1)
    query = totals(reader.parquet(str(folder / "orders"))).write_to(
        merging(spark, lake.table), checkpoint=folder / "checkpoint", available_now=True, flush=True
    )
    assert query is not None  # a stream has one
    query.awaitTermination()
    start = functions.date_format("window_start", "HH:mm").alias("start")  # in the session's zone, UTC
    for row in spark.table(lake.table).orderBy(*KEY).select("product", start, "n", "revenue").collect():
        print(f"{row['start']}  {row['product']}  n={row['n']} revenue={row['revenue']}")
    spark.stop()


if __name__ == "__main__":
    main()
