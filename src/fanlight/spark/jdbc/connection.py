"""Any database that has a JDBC driver: connections of the driver's own JVM, in portable SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from fanlight.sinks.database.tables import Table, index_of, is_text
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.shown_address import Secrets, shown
from fanlight.spark.delivery import SparkDelivery
from fanlight.spark.jdbc.bind_rows import binder, bound
from fanlight.spark.jdbc.dialect import Dialect, dialect_of
from fanlight.spark.jdbc.driver import register, require_driver
from fanlight.spark.require_jvm import gateway_of, require_jvm

_ROWS = 1_000
"""So many rows are sent to the database at a time."""

_UNKNOWN = ("42", "S0", "3F")
"""The SQLSTATEs that speak of a table or a schema that is not there."""

_CHAR, _NCHAR = 1, -15
"""The numbers of `java.sql.Types`."""

_REFUSED = ("22", "23", "44", "54", "S1009")
"""The SQLSTATEs that speak of a value: data, constraints, checks of a view, limits; and MySQL's word for NaN."""
_CONSTRAINT = "23"


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
    def connected(self, delivery: Delivery) -> Iterator[JdbcConnection]:
        """Connect, and learn which database it is."""
        assert isinstance(delivery, SparkDelivery)  # only on Spark a database is reached by JDBC
        require_jvm(delivery.session, self.address)
        gateway = gateway_of(delivery.session)
        jvm = gateway.jvm
        given = jvm.java.util.Properties()
        for name, value in {**dict(_by_scheme(self.url).properties), **dict(self.properties)}.items():
            if name == "driver":
                register(jvm, value)
            else:
                given.setProperty(name, value)
        require_driver(jvm, self.url)
        connection = jvm.java.sql.DriverManager.getConnection(self.url, given)
        try:
            yield JdbcConnection(connection, gateway)
        finally:
            connection.close()


class JdbcConnection:
    """Statements over one JDBC connection."""

    def __init__(self, connection: Any, gateway: Any) -> None:
        about = connection.getMetaData()
        self._about = about
        self._connection = connection
        self._gateway = gateway
        self._quote = str(about.getIdentifierQuoteString()).strip()
        self._dialect: Dialect = dialect_of(str(about.getDatabaseProductName()))
        if self._dialect.opening:
            self._execute(self._dialect.opening)

    def quoted(self, name: str) -> str:
        """An identifier in the database's own quotes, letter for letter."""
        return self._quote + name.replace(self._quote, self._quote * 2) + self._quote if self._quote else name

    def has(self, table: Table) -> bool:
        """Whether the table is there; SQL has no portable way to ask, so it is asked for none of its rows."""
        try:
            self._execute(f"SELECT 1 FROM {self._named(table.name)} WHERE 1 = 0")
        except (Py4JJavaError, PySparkException) as problem:
            state, said = _state_of(problem, self._gateway)
            if state.startswith(_UNKNOWN) and not re.search("(?i)denied|permission", said):
                return False
            raise  # a lock, a lost connection or a right that is missing says nothing about tables
        return True

    def ensure(self, table: Table) -> None:
        """Create the table, and the index its rows are found by; a table that is there is used as it is."""
        if self.has(table):
            return
        name = self._named(table.name)
        columns = ", ".join(f"{self.quoted(column.name)} {self._declared(column, table)}" for column in table.schema)
        self._execute(f"CREATE TABLE {name} ({columns})")
        if table.key:
            key = table.key[: int(self._about.getMaxColumnsInIndex()) or None]  # 0 is no limit
            parts = self._dialect.indexed([table.schema.field(column).type for column in key])
            listed = ", ".join(f"{self.quoted(column)}{part}" for column, part in zip(key, parts, strict=True))
            self._execute(f"CREATE INDEX {self.quoted(index_of(table))} ON {name} ({listed})")

    def _declared(self, column: pa.Field, table: Table) -> str:
        return self._dialect.declared(column.type, is_key=column.name in table.key, keys=len(table.key))

    def equal(self, column: pa.Field) -> tuple[str, int]:
        """What is true of a row that has the value `?` in this column, byte for byte, and how often it says `?`."""
        name = self.quoted(column.name)
        if self._dialect.key_length and is_text(column.type):
            return f"{name} = ? AND {self._dialect.key_length.format(column=name)}", 2
        return f"{name} = ?", 1

    def padded(self, table: Table) -> frozenset[str]:
        """The columns whose values are filled up to one length, so that what was at their end cannot be told."""
        prepared = self._connection.prepareStatement(f"SELECT * FROM {self._named(table.name)} WHERE 1 = 0")
        try:
            about = prepared.executeQuery().getMetaData()
            places = range(1, int(about.getColumnCount()) + 1)
            return frozenset(str(about.getColumnName(place)) for place in places if _is_padded(about, place))
        finally:
            prepared.close()

    def retyped(self, table: Table, column: str) -> str:
        """What a user does about a column that does not compare byte for byte."""
        kind = self._declared(table.schema.field(column), table)
        if not self._dialect.retyped:
            return f"Create the table with {self.quoted(column)} {kind}."
        return self._dialect.retyped.format(table=self._named(table.name), column=self.quoted(column), type=kind) + ";"

    @property
    def nowhere(self) -> str:
        """What a question that concerns no table has to ask."""
        return self._dialect.nowhere

    def too_long(self, name: str) -> int | None:
        """The longest name there may be, if this one is longer."""
        length = len(name.encode()) if self._dialect.names_in_bytes else len(name)
        return self._longest_name if 0 < self._longest_name < length else None

    @cached_property
    def _longest_name(self) -> int:
        """0 if there is no limit. Some drivers have to ask the database, so it is asked when it matters."""
        return int(self._about.getMaxTableNameLength())

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Take back what runs inside, and only that, if it fails."""
        here = self._connection.setSavepoint()
        try:
            yield
        except BaseException:
            self._connection.rollback(here)
            raise
        self._connection.releaseSavepoint(here)

    def refuses(self, problem: Exception) -> bool:
        """Whether the database says that a value cannot be kept, rather than that it cannot work."""
        state, said = _state_of(problem, self._gateway)
        if not self._dialect.has_nan and re.search(r"\b(NaN|Infinity)\b", said):
            return True
        return state.startswith(_REFUSED)

    def constrains(self, problem: Exception) -> bool:
        """Whether it is a constraint that a change would break."""
        return _state_of(problem, self._gateway)[0].startswith(_CONSTRAINT)

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

    def _named(self, name: str) -> str:
        return ".".join(self.quoted(piece) for piece in name.split("."))

    def _execute(self, statement: str) -> None:
        prepared = self._connection.prepareStatement(statement)
        try:
            prepared.execute()
        finally:
            prepared.close()


def _by_scheme(url: str) -> Dialect:
    """What can be said about a database before it is reached."""
    return dialect_of(url.split(":")[1])


def _is_padded(about: Any, place: int) -> bool:
    """CHAR, NCHAR and BINARY, but for PostgreSQL's BYTEA, which calls itself that too."""
    return int(about.getColumnType(place)) in (_CHAR, _NCHAR) or str(about.getColumnTypeName(place)) == "BINARY"


def _state_of(problem: Exception, gateway: Any) -> tuple[str, str]:
    """The SQLSTATE of the innermost exception that has one, and what all of them say."""
    state, said = "", []
    raised = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    while raised is not None:
        said.append(str(raised.toString()))
        following = raised.getCause()
        if is_instance_of(gateway, raised, "java.sql.SQLException"):
            state = str(raised.getSQLState() or state)
            following = following or raised.getNextException()
        raised = following
    return state, " ".join(said)
