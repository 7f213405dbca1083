"""The session all contestants share: what `fanlight.spark.session` sets, and room enough for the slowest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fanlight.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"


@contextmanager
def session(room: Path) -> Iterator[SparkSession]:
    """A session whose files are in `room` and end with it."""
    with _errors_to(room / "spark.log"):
        spark = spark_session(
            MASTER,
            partitions=2,
            local_checkpoints=True,
            spark_driver_bindAddress="127.0.0.1",
            spark_driver_host="127.0.0.1",
            spark_driver_memory="4g",  # Spark's own gigabyte is little for a million keys, whoever holds them
            spark_local_dir=str(room / "local"),
            spark_sql_files_openCostInBytes="65536",  # or one core reads five eighths of a file, and the other waits
            spark_sql_warehouse_dir=str(room / "warehouse"),
            spark_ui_enabled="false",
            spark_ui_showConsoleProgress="false",
        )
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Let what starts now write its errors to `log`: every worker says a word about every batch."""
    terminal = os.dup(2)
    with log.open("w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
