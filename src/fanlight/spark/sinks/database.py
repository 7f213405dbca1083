"""A result in a database: one transaction a batch, which also says which batch it was."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa

from fanlight.spark.sinks.batch import Batch, Leaving, Part
from fanlight.spark.sinks.shape import Shape
from fanlight.spark.sinks.shown import Secrets
from fanlight.spark.sinks.sink import blamed
from fanlight.spark.sinks.tables import Table, changes_of, table_of

BATCHES = "fanlight_batches"
_BATCHES = pa.schema({"query": pa.string(), "table_name": pa.string(), "batch": pa.int64()})


class Connection(Protocol):
    """What a database is asked to do. Statements have a `?` for each column, and run once for each row."""

    def quoted(self, name: str) -> str:
        """An identifier as the database wants it, letter for letter."""
        ...

    def ensure(self, table: Table) -> None:
        """Create the table if it is not there, outside of any transaction: not every database can do it inside."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All that runs inside becomes visible together, or not at all."""
        ...

    def run(self, statement: str, rows: pa.Table) -> None:
        """Run the statement with the values of each row; once if there are no columns."""
        ...

    def number(self, question: str, *values: str) -> int | None:
        """The single number a question has for an answer."""
        ...


class Database(Protocol):
    """A database by its address."""

    @property
    def address(self) -> str:
        """How it is written, without what is secret."""
        ...

    @property
    def secrets(self) -> Secrets:
        """What its connections must not be quoted with."""
        ...

    @property
    def problems(self) -> tuple[type[Exception], ...]:
        """What its connections raise."""
        ...

    def connected(self, leaving: Leaving) -> AbstractContextManager[Connection]:
        """A connection for this batch that is closed at the end, whatever happens."""
        ...


@dataclass(frozen=True)
class DatabaseSink:
    """The parts of a result that go to one database, and the table of each."""

    database: Database
    tables: tuple[tuple[Part, str], ...]
    shape: Shape

    guarantee: ClassVar[str] = (
        "exactly once: rows, dead letters, accounting and the number of the batch are committed in one transaction, "
        "and a batch whose number is there already is skipped"
    )
    on_executors: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """Database and table of each part."""
        return {part: f"{self.database.address}, table {name}" for part, name in self.tables}

    def write(self, leaving: Leaving) -> None:
        """Upsert and delete by (keys, window); add dead letters and accounting; note the batch. All, or nothing."""
        batch = leaving.batch
        remedy = "Free what holds it (space, lock, network, a table of other columns)."
        with (
            blamed(self.database.address, batch.number, self.database.problems, remedy, self.database.secrets),
            self.database.connected(leaving) as connection,
        ):
            tables = [(part, table_of(part, name, self.shape)) for part, name in self.tables]
            for _, table in tables:
                connection.ensure(table)
                connection.ensure(_batches_beside(table))
            with connection.transaction():
                for part, table in tables:
                    self._apply(connection, part, table, batch)

    def _apply(self, connection: Connection, part: Part, table: Table, batch: Batch) -> None:
        """Bring one table up to this batch, unless it is there."""
        batches = _named(connection, _batches_beside(table).name)
        newest = connection.number(
            f"SELECT MAX({connection.quoted('batch')}) FROM {batches} "
            f"WHERE {connection.quoted('query')} = ? AND {connection.quoted('table_name')} = ?",
            batch.query,
            table.name,
        )
        if newest is not None and newest >= batch.number:
            return
        done = changes_of(part, batch, table, self.shape)
        _delete(connection, table, done.gone)
        _insert(connection, table.name, done.rows)
        noted = pa.table([[batch.query], [table.name], [batch.number]], schema=_BATCHES)
        _delete(connection, _batches_beside(table), noted.select(_batches_beside(table).key))
        _insert(connection, _batches_beside(table).name, noted)


def _batches_beside(table: Table) -> Table:
    """The table that knows the newest batch of every query and table, in the same schema of the database."""
    schema, dot, _ = table.name.rpartition(".")
    return Table(f"{schema}{dot}{BATCHES}", _BATCHES, ("query", "table_name"))


def _insert(connection: Connection, name: str, rows: pa.Table) -> None:
    if len(rows):
        columns = ", ".join(connection.quoted(column) for column in rows.column_names)
        marks = ", ".join("?" * rows.num_columns)
        connection.run(f"INSERT INTO {_named(connection, name)} ({columns}) VALUES ({marks})", rows)


def _delete(connection: Connection, table: Table, gone: pa.Table) -> None:
    """Take away the rows with these keys. `= NULL` finds nothing, so keys go by which of their columns are null."""
    if not len(gone):
        return
    nulls = np.zeros(len(gone), np.int64)
    for place, column in enumerate(gone.columns):
        nulls |= column.is_null().to_numpy().astype(np.int64) << place
    for pattern in np.unique(nulls).tolist():
        absent = [bool(pattern >> place & 1) for place in range(gone.num_columns)]
        wanted = " AND ".join(
            f"{connection.quoted(name)} {'IS NULL' if is_null else '= ?'}"
            for name, is_null in zip(gone.column_names, absent, strict=True)
        )
        present = [name for name, is_null in zip(gone.column_names, absent, strict=True) if not is_null]
        rows = gone.filter(pa.array(nulls == pattern)).select(present)
        connection.run(f"DELETE FROM {_named(connection, table.name)} WHERE {wanted}", rows)


def _named(connection: Connection, name: str) -> str:
    """A table's name, with its schema before a dot, quoted."""
    return ".".join(connection.quoted(piece) for piece in name.split("."))
