"""A query in a process of its own, to be killed and started again: `python survivor.py FOLDER MASTER`.

Reads FOLDER/in, one file a micro-batch, and writes FOLDER/totals.db; ends when everything is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import fanlight as fl
from fanlight.spark.session import spark_session


def main(folder: Path, master: str) -> None:
    spark = spark_session(
        master,
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_ui_enabled="false",
    )
    source = spark.readStream.schema("ts timestamp, k string, v bigint").option("maxFilesPerTrigger", 1)
    totals = (
        fl.stream(source.parquet(str(folder / "in")), time="ts", delay="5 seconds")
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
        available_now=True,
    )
    assert query is not None
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
