"""A Spark session with what a stateful query needs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fanlight.spark.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}
"""State lives in RocksDB and is checkpointed by its changes; times are read and written in UTC."""


def spark_session(master: str = "local[2]", *, partitions: int = 2, **settings: str) -> SparkSession:
    """A session for pipelines on this machine, or on `master`; further settings with `_` for `.`.

    On a cluster that has its own sessions, set what `SETTINGS` names on those instead.
    """
    require_java()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).config("spark.sql.shuffle.partitions", str(partitions))
    for name, value in {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
