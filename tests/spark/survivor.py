"""A query in a process of its own, to be killed and started again: `python survivor.py FOLDER MASTER`.

Makes the same records in the same batches every time, whenever it is killed, and writes FOLDER/totals.db; ends when
the batch after the last record is in the table.

The source is Spark's own `rate-micro-batch`: the end of a batch follows from its start alone. (The source of files
notes the files of a batch before Spark notes the batch. Killed between the two, it gives the next batch the files of
both; then fewer records are late.)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import fanlight as fl
from fanlight.spark.session import spark_session

BATCHES = 120 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 24
ROWS = 40


def orders(spark: SparkSession) -> DataFrame:
    """Out of order by up to eight seconds; one in twenty is late by a minute and a half, most often too late."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2).load()
    return source.where(f"value < {BATCHES * ROWS}").selectExpr(
        f"""timestamp_micros(
            timestampdiff(MICROSECOND, timestamp'1970-01-01 00:00:00Z', timestamp'2026-01-01 00:00:00Z')
            + (value div {ROWS}) * 10000000
            + pmod(xxhash64(value), 16000000) - 8000000
            - if(pmod(xxhash64(value, 'late'), 20) = 0, 90000000, 0)
        ) AS ts""",
        "substr('abcdef', 1 + CAST(pmod(xxhash64(value, 'k'), 6) AS INT), 1) AS k",
        "pmod(xxhash64(value, 'v'), 1000) AS v",
    )


def main(folder: Path, master: str) -> None:
    spark = spark_session(
        master,
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_ui_enabled="false",
    )
    totals = (
        fl.stream(orders(spark), time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.hopping("40 seconds", every="10 seconds"), lateness="30 seconds")
        .trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), total=fl.sum("v"), last=fl.last("v"))
    )
    query = totals.write_to(
        f"sqlite:///{folder / 'totals.db'}",
        table="totals",
        checkpoint=str(folder / "checkpoint"),
    )
    assert query is not None
    while (progress := query.lastProgress) is None or progress.batchId < BATCHES:
        if query.awaitTermination(0.2):
            break
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
