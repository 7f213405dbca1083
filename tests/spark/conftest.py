"""One Spark session for all tests of a worker: starting one costs more than most of them."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fanlight.spark.session import spark_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = spark_session(
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_sql_warehouse_dir=str(tmp_path_factory.mktemp("warehouse")),
        spark_ui_enabled="false",
    )
    yield session
    session.stop()


@pytest.fixture
def connect_port() -> Iterator[None]:
    """The right to the one port that local servers of Spark Connect listen on, among all workers."""
    with Path(tempfile.gettempdir(), "fanlight-connect-port").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
