"""A result in a database: one transaction a batch, which also says which batch it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.model.duration import Duration
from fanlight.model.timestamp import EARLIEST
from fanlight.spark.sinks.batch import Batch, Leaving, Part
from fanlight.spark.sinks.ledger import Ledger
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

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
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
    keep: Duration | None = None
    """How long dead letters and accounting stay, in event time; None for ever."""

    guarantee: ClassVar[str] = (
        "exactly once: rows, dead letters, accounting and the number of the batch are committed in one transaction, "
        "and a batch whose number is there already is skipped"
    )
    on_executors: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """Database and table of each part."""
        return {part: f"{self.database.address}, table {name}" for part, name in self.tables}

    def check(self, leaving: Leaving) -> None:
        """Refuse a batch that does not follow what the tables hold; nothing is created."""
        with self._connected(leaving) as connection:
            for _, table in self._tables():
                self._require(connection, table, leaving)

    def write(self, leaving: Leaving) -> None:
        """Upsert and delete by (keys, window); add dead letters and accounting; note the batch. All, or nothing."""
        batch = leaving.batch
        with self._connected(leaving) as connection:
            tables = self._tables()
            missing = [table for _, table in tables if not connection.has(table)]
            for table in missing:
                self._require(connection, table, leaving)
            for table in dict.fromkeys([*missing, *(_batches_beside(table) for _, table in tables)]):
                connection.ensure(table)
            with connection.transaction():
                ledgers = [self._ledger(connection, table, leaving.query) for _, table in tables]
                takes = [ledger.takes(leaving.number, accepts=leaving.accepts) for ledger in ledgers]
                for (part, table), ledger, taken in zip(tables, ledgers, takes, strict=True):
                    if taken:
                        self._apply(connection, part, table, batch, accepted=not ledger.follows(batch.number))

    @contextmanager
    def _connected(self, leaving: Leaving) -> Iterator[Connection]:
        remedy = "Free what holds it (space, lock, network, a table of other columns)."
        with (
            blamed(self.database.address, leaving.number, self.database.problems, remedy, self.database.secrets),
            self.database.connected(leaving) as connection,
        ):
            yield connection

    def _tables(self) -> list[tuple[Part, Table]]:
        return [(part, table_of(part, name, self.shape)) for part, name in self.tables]

    def _require(self, connection: Connection, table: Table, leaving: Leaving) -> None:
        """Refuse a batch that does not follow, or whose table is gone though batches of it are noted."""
        ledger = Ledger(f"{self.database.address}, table {table.name},", leaving.query, None)
        if connection.has(_batches_beside(table)):
            ledger = self._ledger(connection, table, leaving.query)
        ledger.takes(leaving.number, accepts=leaving.accepts)
        if ledger.newest is not None and not leaving.accepts and not connection.has(table):
            gone = f"{BATCHES} notes batches up to {ledger.newest} in it, and the table is gone."
            raise ledger.refused(leaving.number, gone)

    def _ledger(self, connection: Connection, table: Table, query: str) -> Ledger:
        """The newest batch of a query in a table."""
        newest = connection.number(
            f"SELECT MAX({connection.quoted('batch')}) FROM {_named(connection, _batches_beside(table).name)} "
            f"WHERE {connection.quoted('query')} = ? AND {connection.quoted('table_name')} = ?",
            query,
            table.name,
        )
        return Ledger(f"{self.database.address}, table {table.name},", query, newest)

    def _apply(self, connection: Connection, part: Part, table: Table, batch: Batch, *, accepted: bool) -> None:
        """Bring one table up to this batch; rows that only add up make way for those of batches that come again."""
        if accepted and part is not Part.ROWS:
            _remove(connection, table, batch.query, "batch", ">=", pa.scalar(batch.number, pa.int64()))
        done = changes_of(part, batch, table, self.shape)
        _delete(connection, table, done.gone)
        _insert(connection, table.name, done.rows)
        if self.keep is not None and part is not Part.ROWS and (oldest := _oldest(batch, self.keep)) is not None:
            _remove(connection, table, batch.query, "watermark", "<", oldest)
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


def _remove(connection: Connection, table: Table, query: str, column: str, sign: str, bound: pa.Scalar) -> None:
    """Take away what a query added to a table on one side of a bound; null is on neither."""
    wanted = f"{connection.quoted('query')} = ? AND {connection.quoted(column)} {sign} ?"
    bounds = pa.table({"query": [query], column: pa.array([bound.as_py()], bound.type)})
    connection.run(f"DELETE FROM {_named(connection, table.name)} WHERE {wanted}", bounds)


def _oldest(batch: Batch, keep: Duration) -> pa.Scalar | None:
    """The oldest watermark whose dead letters and accounting stay; None where no watermark is known, or all stay."""
    newest = pc.max(batch.accounting["watermark"])
    micros = newest.cast(pa.int64()).as_py()
    if micros is None or micros - keep.micros < EARLIEST:
        return None
    return pa.scalar(micros - keep.micros, pa.int64()).cast(newest.type)


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
