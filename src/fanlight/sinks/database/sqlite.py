"""SQLite: the standard library's, in its write-ahead log."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fanlight.sinks.as_text import as_json, digits, jsonable, spelled
from fanlight.sinks.database.tables import Table, index_of
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.shown_address import Secrets


@dataclass(frozen=True)
class SqliteDatabase:
    """A file. `timeout` is how many seconds to wait for somebody else's transaction."""

    path: str
    timeout: float = 30.0

    @property
    def address(self) -> str:
        """The URL it is written as."""
        return f"sqlite:///{self.path}"

    @property
    def secrets(self) -> Secrets:
        """A file has none."""
        return Secrets()

    @property
    def problems(self) -> tuple[type[Exception], ...]:
        """What SQLite and the file system raise."""
        return (sqlite3.Error, OSError)

    @contextmanager
    def connected(self, delivery: Delivery) -> Iterator[SqliteConnection]:
        """Open the file, with its folder if need be."""
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=self.timeout, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            # Spark forgets a batch once it is taken, so a commit must outlive a loss of power
            connection.execute("PRAGMA synchronous = FULL")
            yield SqliteConnection(connection)


class SqliteConnection:
    """Statements over one connection that commits only when told."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def quoted(self, name: str) -> str:
        """An identifier, letter for letter.

        In backticks: SQLite takes a name in double quotes for text where there is no such column, so that a table
        whose columns are damaged would be searched for words.
        """
        return "`" + name.replace("`", "``") + "`"

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
        schema, dot, own = table.name.rpartition(".")
        about = f"{self.quoted(schema)}{dot}table_info" if dot else "table_info"
        return bool(self._connection.execute(f"PRAGMA {about}({self.quoted(own)})").fetchall())

    def equal(self, column: pa.Field) -> tuple[str, int]:
        """Text is compared byte for byte, unless the column says otherwise."""
        return f"{self.quoted(column.name)} = ?", 1

    def padded(self, table: Table) -> frozenset[str]:
        """None: SQLite keeps what it is given."""
        return frozenset()

    def retyped(self, table: Table, column: str) -> str:
        """What a user does about a column that does not compare byte for byte."""
        return f"Create the table with {self.quoted(column)} TEXT, without a COLLATE."

    @property
    def nowhere(self) -> str:
        """A question may ask no table at all."""
        return ""

    def too_long(self, name: str) -> int | None:
        """Names may have any length."""
        return None

    def ensure(self, table: Table) -> None:
        """Create the table, and the index its rows are found by, if they are not there."""
        name = self._named(table.name)
        columns = ", ".join(f"{self.quoted(field.name)} {declared(field.type)}" for field in table.schema)
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        if table.key:
            key = ", ".join(self.quoted(column) for column in table.key)
            schema, dot, own = table.name.rpartition(".")
            index = self._named(f"{schema}{dot}{index_of(table)}")
            self._connection.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {self.quoted(own)} ({key})")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Lock the database for writing at once, so that nobody else's writes come in between."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk may have ended it already
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Take back what runs inside, and only that, if it fails."""
        self._connection.execute("SAVEPOINT here")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK TO here")
            raise
        finally:
            self._connection.execute("RELEASE here")

    def refuses(self, problem: Exception) -> bool:
        """Whether a value does not fit the table."""
        return isinstance(problem, sqlite3.IntegrityError | sqlite3.DataError)

    def constrains(self, problem: Exception) -> bool:
        """Whether it is a constraint that a change would break."""
        return isinstance(problem, sqlite3.IntegrityError)

    def run(self, statement: str, rows: pa.Table) -> None:
        """Run the statement for each row."""
        if rows.num_columns:
            self._connection.executemany(statement, zip(*(stored(column) for column in rows.columns), strict=True))
        else:
            self._connection.execute(statement)

    def number(self, question: str, *values: str) -> int | None:
        """The answer."""
        (answer,) = self._connection.execute(question, values).fetchone()
        return None if answer is None else int(answer)

    def _named(self, name: str) -> str:
        return ".".join(self.quoted(piece) for piece in name.split("."))


def declared(kind: pa.DataType) -> str:
    """The column type a value is kept in."""
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_duration(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "BLOB"
    return "TEXT"


def stored(column: pa.ChunkedArray) -> list[Any]:
    """A column as SQLite keeps it: decimals and times as text, lists and structs as JSON, NaN as a word.

    SQLite would take NaN for null, and knows neither decimals nor times.
    """
    kind = column.type
    if pa.types.is_nested(kind):
        return as_json(column)
    if pa.types.is_decimal(kind):
        return digits(column)
    if declared(kind) == "BLOB":
        return list(column.to_pylist())
    if pa.types.is_floating(kind):
        return [spelled(value) if value is not None and math.isnan(value) else value for value in column.to_pylist()]
    return jsonable(column)
