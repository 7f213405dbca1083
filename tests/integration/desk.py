"""A database of a test's own on a server, and somebody who asks it questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from tests.spark.jvm import jvm_of
from tests.spark.sinks.orders import handed, on_spark

from fanlight.sinks.delivery import Delivery
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of
from fanlight.spark.jdbc.connection import JdbcDatabase

from .servers import Server


@dataclass(frozen=True)
class Desk:
    """A fresh database, its URL, and a connection to it."""

    spark: SparkSession
    url: str
    properties: dict[str, str]
    connection: Any

    @staticmethod
    @contextmanager
    def opened(spark: SparkSession, server: Server) -> Iterator[Desk]:
        with _connected(spark, server.url, server.properties) as outer:
            is_postgres = server.url.startswith("jdbc:postgresql")
            _execute(outer, "DROP DATABASE IF EXISTS desk")
            _execute(outer, "CREATE DATABASE desk")
            url = f"{server.url.rpartition('/')[0]}/desk"
            with _connected(spark, url, server.properties) as connection:
                yield Desk(spark, url, server.properties, connection)
            assert is_postgres or "mariadb" in server.url

    @property
    def is_postgres(self) -> bool:
        return self.url.startswith("jdbc:postgresql")

    def named(self, name: str) -> str:
        """A name in the database's quotes."""
        return f'"{name}"' if self.is_postgres else f"`{name}`"

    def does(self, statement: str) -> None:
        _execute(self.connection, statement)

    def asked(self, question: str) -> list[tuple[Any, ...]]:
        """The answer, as text and nulls."""
        statement = self.connection.createStatement()
        answer = statement.executeQuery(question)
        places = range(1, answer.getMetaData().getColumnCount() + 1)
        rows = []
        while answer.next():
            rows.append(tuple(answer.getString(place) for place in places))
        statement.close()
        return rows

    def sink(self, shape: ResultShape, table: str = "totals", **options: Any) -> Sink:
        (sink,) = sinks_of(shape, self.url, table=table, properties=self.properties, jdbc=JdbcDatabase, **options)
        return sink

    def takes(self, sink: Sink, shape: ResultShape, number: int, rows: list[dict[str, Any]], **more: Any) -> None:
        """Hand a batch to a sink, as a query does: the first of a start is shown to it before."""
        self.delivers(sink, handed(shape, number, pa.Table.from_pylist(rows, schema=shape.rows), **more))

    def delivers(self, sink: Sink, delivery: Delivery) -> None:
        """Show the batch to the sink, and hand it over."""
        there = on_spark(delivery, self.spark.range(0))
        sink.check(there)
        sink.write(there)


@contextmanager
def _connected(spark: SparkSession, url: str, properties: dict[str, str]) -> Iterator[Any]:
    jvm = jvm_of(spark)
    given = jvm.java.util.Properties()
    for name, value in properties.items():
        given.setProperty(name, value)
    register = jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register
    register("org.postgresql.Driver" if url.startswith("jdbc:postgresql") else "org.mariadb.jdbc.Driver")
    connection = jvm.java.sql.DriverManager.getConnection(url, given)
    try:
        yield connection
    finally:
        connection.close()


def _execute(connection: Any, statement: str) -> None:
    prepared = connection.createStatement()
    prepared.execute(statement)
    prepared.close()
