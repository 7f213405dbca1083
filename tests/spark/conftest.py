"""One Spark session for all tests of a worker: starting one costs more than most of them."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from fanlight.spark.session import spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark 4.1 leaves its sockets to the garbage collector, which warns of them in any test."""
    if pyspark.__version__.startswith("4.1."):
        for item in items:
            for warning in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{warning}"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = spark_session(
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_sql_execution_arrow_pyspark_enabled="true",  # as it is by itself since 4.2
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
