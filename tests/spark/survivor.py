"""A query in a process of its own, to be killed and started again: `python survivor.py QUERY FOLDER MASTER`.

    totals    one stage over one input
    graph     three stages over two inputs
    join      a left join of two inputs

Makes the same records in the same batches every time, whenever it is killed, and writes FOLDER/totals.db, and dead
letters there or to the folder FOLDER/letters; ends when the batch after the last record is in the table.

The source is Spark's own `rate-micro-batch`: the end of a batch follows from its start alone. (The source of files
notes the files of a batch before Spark notes the batch. Killed between the two, it gives the next batch the files of
both; then fewer records are late.)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions

import fanlight as fl
from fanlight.spark.session import spark_session

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
BATCHES = {"totals": 120 if LONG else 24, "graph": 60 if LONG else 14, "join": 60 if LONG else 14}
ROWS = 40
WITH_LOCAL_CHECKPOINTS = {"graph", "join"}
"""The queries whose session says so; the other has Spark's own way to write checkpoints."""
WITH_LETTERS_APART = {"totals"}
"""The queries whose dead letters are parquet files, which tasks write."""


def orders(spark: SparkSession, batches: int, seed: int = 0) -> DataFrame:
    """Out of order by up to eight seconds; one in twenty is late by a minute and a half, most often too late."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2).load()
    told = source.where(f"value < {batches * ROWS}").withColumn("value", functions.col("value") + seed * 1_000_000)
    return told.selectExpr(
        f"""timestamp_micros(
            timestampdiff(MICROSECOND, timestamp'1970-01-01 00:00:00Z', timestamp'2026-01-01 00:00:00Z')
            + (pmod(value, 1000000) div {ROWS}) * 10000000
            + pmod(xxhash64(value), 16000000) - 8000000
            - if(pmod(xxhash64(value, 'late'), 20) = 0, 90000000, 0)
        ) AS ts""",
        "substr('abcdef', 1 + CAST(pmod(xxhash64(value, 'k'), 6) AS INT), 1) AS k",
        "pmod(xxhash64(value, 'v'), 1000) AS v",
    )


def totals(spark: SparkSession) -> fl.Result:
    """Hopping windows by key, which fire early and late and take back what they said."""
    return (
        fl.stream(orders(spark, BATCHES["totals"]), time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.hopping("40 seconds", every="10 seconds"), lateness="30 seconds")
        .trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), total=fl.sum("v"), last=fl.last("v"))
    )


def graph(spark: SparkSession) -> fl.Result:
    """Sums by key and input, which change; of these sums by key, in shards of their own; of these the greatest."""
    web, shop = (fl.stream(orders(spark, BATCHES["graph"], seed), time="ts", delay="5 seconds") for seed in (0, 1))
    tens = fl.union(web=web, shop=shop).where(fl.col("v") > 20).key_by("k", "input").window(fl.tumbling("10 seconds"))
    changing = tens.trigger(fl.at_watermark(early=fl.after(2))).retracting().agg(n=fl.count(), total=fl.sum("v"))
    minutes = changing.key_by("k").window(fl.tumbling("30 seconds"), lateness="30 seconds").retracting()
    sums = minutes.agg(n=fl.sum("n"), total=fl.sum("total"), parts=fl.count())
    return (
        sums.window(fl.hopping("1 minute", every="30 seconds"))
        .trigger(fl.at_watermark(early=fl.after(1)))
        .agg(keys=fl.count(), n=fl.sum("n"), most=fl.max("total"))
    )


def join(spark: SparkSession) -> fl.JoinResult:
    """Pairs of rows of a key that are up to five seconds apart, and the left rows that stay alone."""
    left, right = (
        fl.stream(orders(spark, BATCHES["join"], seed), time="ts", delay=delay, name=name).key_by("k")
        for name, seed, delay in (("o", 0, "5 seconds"), ("p", 1, "30 seconds"))
    )
    return left.join(right, fl.interval("0 s", "5 s"), how="left", where=fl.col("v") > fl.col("p.v"))


QUERIES = {"totals": totals, "graph": graph, "join": join}


def main(name: str, folder: Path, master: str) -> None:
    spark = spark_session(
        master,
        local_checkpoints=name in WITH_LOCAL_CHECKPOINTS,
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_ui_enabled="false",
    )
    query = QUERIES[name](spark).write_to(
        f"sqlite:///{folder / 'totals.db'}",
        table="totals",
        dead_letters=f"{folder / 'letters'}/" if name in WITH_LETTERS_APART else None,
        checkpoint=str(folder / "checkpoint"),
    )
    assert query is not None
    while (progress := query.lastProgress) is None or progress.batchId < BATCHES[name]:
        if query.awaitTermination(0.2):
            break
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
