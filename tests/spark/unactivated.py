"""A pipeline over a session made as PySpark's docs make one: a program, since the path is its own.

    PATH=… python unactivated.py

Prints what declaring a stream and a table says; then does what it says, and prints the rows.
"""

from __future__ import annotations

import os
import re
import sys

from pyspark.sql import DataFrame, SparkSession

import fanlight as fl
from fanlight.errors import EngineError


def session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    return builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()


def declared(frame: DataFrame) -> fl.Result:
    return fl.stream(frame, time="ts", delay="1 second").window(fl.tumbling("1 minute")).agg(n=fl.count())


def orders(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT timestamp '2026-01-01 12:00:00' AS ts FROM range(3)")


def main() -> None:
    spark = session()
    ticks = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    told = []
    for frame in (ticks, orders(spark)):
        try:
            declared(frame).df.explain()
        except EngineError as refused:
            told.append(str(refused))
    spark.stop()
    line = re.search(r"Write (.*?) before the session starts", told[-1])
    assert line is not None
    exec(line[1], {"os": os, "sys": sys})  # what a user does who reads it
    rows = declared(orders(session())).df.collect()
    sys.stdout.write("\n".join([*told, str([row["n"] for row in rows])]) + "\n")


if __name__ == "__main__":
    main()
