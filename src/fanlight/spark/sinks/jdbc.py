"""Any database that has a JDBC driver: connections of the driver's own JVM, in portable SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from fanlight.spark.sinks.batch import Leaving
from fanlight.spark.sinks.binding import binder, bound
from fanlight.spark.sinks.dialect import Dialect, dialect_of
from fanlight.spark.sinks.jvm import gateway_of, require_jvm
from fanlight.spark.sinks.shown import Secrets, shown
from fanlight.spark.sinks.tables import Table

_ROWS = 1_000
"""So many rows are sent to the database at a time."""

_PATIENCE = 10
"""Seconds until a connection that does not answer is taken to be lost."""


@dataclass(frozen=True, repr=False)
class JdbcDatabase:
    """A database by its URL. `properties` are the driver's: `user`, `password`; `driver` names the class to load."""

    url: str
    properties: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"JdbcDatabase({self.address})"

    @property
    def address(self) -> str:
        """Scheme, host and database."""
        return shown(self.url)

    @property
    def secrets(self) -> Secrets:
        """The rest of the URL, and the properties."""
        return Secrets.of(self.url, self.properties)

    @property
    def problems(self) -> tuple[type[Exception], ...]:
        """What the JVM raises."""
        return (Py4JError, PySparkException)

    @contextmanager
    def connected(self, leaving: Leaving) -> Iterator[JdbcConnection]:
        """Connect, and learn which database it is."""
        require_jvm(leaving.session, self.address)
        gateway = gateway_of(leaving.session)
        jvm = gateway.jvm
        given = jvm.java.util.Properties()
        for name, value in self.properties:
            if name == "driver":  # a driver that came by --jars is known to Spark's class loader only
                jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(value)
            else:
                given.setProperty(name, value)
        connection = jvm.java.sql.DriverManager.getConnection(self.url, given)
        try:
            yield JdbcConnection(connection, gateway)
        finally:
            connection.close()


class JdbcConnection:
    """Statements over one JDBC connection."""

    def __init__(self, connection: Any, gateway: Any) -> None:
        about = connection.getMetaData()
        self._connection = connection
        self._gateway = gateway
        self._quote = str(about.getIdentifierQuoteString()).strip()
        self._dialect: Dialect = dialect_of(str(about.getDatabaseProductName()))

    def quoted(self, name: str) -> str:
        """An identifier in the database's own quotes, letter for letter."""
        return self._quote + name.replace(self._quote, self._quote * 2) + self._quote if self._quote else name

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
        name = ".".join(self.quoted(piece) for piece in table.name.split("."))
        if self._answers(f"SELECT 1 FROM {name} WHERE 1 = 0"):
            return True
        if not self._connection.isValid(_PATIENCE):  # then it says nothing about tables
            raise Py4JError("the connection is lost")
        return False

    def ensure(self, table: Table) -> None:
        """Create the table, and the index its rows are found by; a table that is there is used as it is."""
        if self.has(table):
            return
        name = ".".join(self.quoted(piece) for piece in table.name.split("."))
        columns = ", ".join(
            f"{self.quoted(column.name)} {self._dialect.declared(column.type, is_key=column.name in table.key)}"
            for column in table.schema
        )
        self._execute(f"CREATE TABLE {name} ({columns})")
        if table.key:
            key = ", ".join(self.quoted(column) for column in table.key)
            index = self.quoted(f"{table.name.rpartition('.')[2]}_by_key")
            self._execute(f"CREATE INDEX {index} ON {name} ({key})")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end, or take everything back."""
        self._connection.setAutoCommit(False)
        try:
            yield
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise

    def run(self, statement: str, rows: pa.Table) -> None:
        """Send the rows to the JVM in one piece, and let it bind and execute them."""
        if not rows.num_columns:
            self._execute(statement)
            return
        values, types = bound(rows, self._dialect.binary_code)
        prepared = self._connection.prepareStatement(statement)
        try:
            binder(self._gateway).run(prepared, values, types, _ROWS)
        finally:
            prepared.close()

    def number(self, question: str, *values: str) -> int | None:
        """The answer."""
        prepared = self._connection.prepareStatement(question)
        try:
            for place, value in enumerate(values, 1):
                prepared.setString(place, value)
            answer = prepared.executeQuery()
            answer.next()
            number = answer.getLong(1)
            return None if answer.wasNull() else int(number)
        finally:
            prepared.close()

    def _answers(self, question: str) -> bool:
        """Whether the database has what is asked for; SQL has no portable way to say `if not exists`."""
        try:
            self._execute(question)
        except (Py4JJavaError, PySparkException):
            return False
        return True

    def _execute(self, statement: str) -> None:
        prepared = self._connection.prepareStatement(statement)
        try:
            prepared.execute()
        finally:
            prepared.close()
