"""A batch and a streaming pipeline in a session of another kind: a program, since a process has one kind of session.

    python elsewhere.py FOLDER '{"master": "local-cluster[2,1,1024]"}'

Sends the package along, reads one parquet file a micro-batch from FOLDER/in, and prints as JSON what workers say before
that, the rows of both, the counts in the progress, what the checkpoint holds, and where the workers had Fanlight from.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl
from fanlight.errors import EngineError
from fanlight.spark.progress import counts
from fanlight.spark.session import spark_session
from fanlight.spark.shipping import ship

DDL = "ts timestamp, k string, v bigint"


def declared(source: Any) -> fl.Result:
    return (
        fl.stream(source, time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.hopping("20 seconds", every="5 seconds"), lateness="1 minute")
        .trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), total=fl.sum("v"), middle=fl.median("v"))
    )


def source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))


def streamed(spark: SparkSession, folder: Path) -> tuple[DataFrame, list[dict[str, int]]]:
    """The rows of the stream, and the counts of its batches."""
    query = (
        declared(source(spark, folder))
        .df.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    query.awaitTermination()
    return spark.read.parquet(str(folder / "out")), [counts(progress) for progress in query.recentProgress]


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows, times as whole seconds, in one order."""
    return listed([row.asDict(recursive=True) for row in frame.collect()])


def listed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row in rows:
        row["window"] = [int(row["window"][side].timestamp()) for side in ("start", "end")]
        row["pane"].pop("time", None)
        row["pane"].pop("clock", None)
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def unshipped(spark: SparkSession, folder: Path) -> list[str]:
    """What is said of a pipeline whose workers have no Fanlight, by Spark and by `write_to`; nothing if they have."""
    pipeline, said = declared(spark.read.schema(DDL).parquet(str(folder / "in"))), []
    for ask in (pipeline.df.collect, lambda: pipeline.write_to(lambda rows, batch: None)):
        try:
            ask()
        except (PySparkException, EngineError) as problem:
            said.append(str(problem))
    return said


def whereabouts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where Fanlight is imported from in a worker."""
    list(batches)
    import fanlight

    yield pa.record_batch({"path": [fanlight.__file__]})


def main() -> None:
    folder, how = Path(sys.argv[1]), json.loads(sys.argv[2])
    os.environ["TZ"] = "UTC"
    spark = spark_session(
        **how,
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_sql_warehouse_dir=str(folder / "warehouse"),
        spark_ui_enabled="false",
    )
    before = unshipped(spark, folder)
    ship(spark)
    ship(spark)  # what is there already is not sent again
    found = spark.range(1).mapInArrow(whereabouts, "path string").collect()
    batch = rows(declared(spark.read.schema(DDL).parquet(str(folder / "in"))).df)
    frame, counted = streamed(spark, folder)
    stream = rows(frame)
    state = rows(fl.inspect(folder / "checkpoint", declared(source(spark, folder)), spark=spark).windows())
    told = {
        "kind": type(spark).__module__,
        "before": before,
        "imported": found[0]["path"],
        "batch": batch,
        "stream": stream,
        "counts": counted,
        "windows": state,
    }
    sys.stdout.write(json.dumps(told) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
