"""The servers and one Spark session for all integration tests; drivers come as a user's do, by Maven coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fanlight.spark.session import spark_session

from .desk import Desk
from .servers import Server, mariadb, postgresql

DRIVERS = "org.postgresql:postgresql:42.7.14,org.mariadb.jdbc:mariadb-java-client:3.5.11"
"""Spark keeps them in its Ivy folder, so they are fetched once."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = spark_session(
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_jars_packages=DRIVERS,
        spark_sql_warehouse_dir=str(tmp_path_factory.mktemp("warehouse")),
        spark_ui_enabled="false",
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, Server]]:
    with postgresql() as first, mariadb() as second:
        yield {"postgresql": first, "mariadb": second}


@contextmanager
def _desk(spark: SparkSession, server: Server) -> Iterator[Desk]:
    with Desk.opened(spark, server) as desk:
        yield desk


@pytest.fixture
def postgres(spark: SparkSession, servers: dict[str, Server]) -> Iterator[Desk]:
    with _desk(spark, servers["postgresql"]) as desk:
        yield desk


@pytest.fixture
def maria(spark: SparkSession, servers: dict[str, Server]) -> Iterator[Desk]:
    with _desk(spark, servers["mariadb"]) as desk:
        yield desk


@pytest.fixture(params=["postgresql", "mariadb"])
def desk(request: Any, spark: SparkSession, servers: dict[str, Server]) -> Iterator[Desk]:
    """Both, one after the other."""
    with _desk(spark, servers[request.param]) as desk:
        yield desk
