"""The database sink: one transaction for each batch, which also notes the batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.database.changes import TableChanges
from fanlight.sinks.database.connection import Connection, Database
from fanlight.sinks.database.key_check import require_columns_of_now, require_exact, require_names
from fanlight.sinks.database.refused_rows import Sieve, stopped, with_refused
from fanlight.sinks.database.statements import by_key, delete, insert, named, remove
from fanlight.sinks.database.tables import Table, changes_of, table_of
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.ledger import Ledger
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.sink import blamed

BATCHES = "fanlight_batches"
_BATCHES = pa.schema(
    {"query": pa.string(), "table_name": pa.string(), "batch": pa.int64(), "offsets_digest": pa.int64()}
)


@dataclass(frozen=True)
class DatabaseSink:
    """The parts of a result that go to one database, and the table of each."""

    database: Database
    tables: tuple[tuple[Part, str], ...]
    shape: ResultShape
    keep: Duration | None = None
    """How long dead letters and accounting stay, in event time; None for ever."""
    to_letters: bool = False
    """Whether rows that the database refuses go to the dead letters, rather than to stop the query."""

    guarantee: ClassVar[str] = (
        "exactly once: rows, dead letters, accounting and the number of the batch are committed in one transaction, "
        "and a batch whose number is there already is skipped"
    )
    sees_all: ClassVar[bool] = False

    @property
    def places(self) -> dict[Part, str]:
        """Database and table of each part."""
        return {part: f"{self.database.address}, table {name}" for part, name in self.tables}

    def check(self, delivery: Delivery) -> None:
        """Refuse a batch that does not follow what the tables hold; nothing is created."""
        with self._connected(delivery) as connection:
            for _, table in self._tables():
                self._fits(connection, table)
                self._fits(connection, _batches_beside(table))
                self._require(connection, table, delivery)

    def write(self, delivery: Delivery) -> None:
        """Upsert and delete rows by identity, or add them; add the other parts; note the batch.

        All of it, or nothing.
        """
        with self._connected(delivery) as connection:
            tables = self._tables()
            missing = [table for _, table in tables if not connection.has(table)]
            for table in missing:
                self._require(connection, table, delivery)
            for table in dict.fromkeys([*missing, *(_batches_beside(table) for _, table in tables)]):
                connection.ensure(table)
            for table in missing:
                self._fits(connection, table)
            try:
                self._bring(connection, delivery)
            except self.database.problems as problem:
                if not connection.refuses(problem):
                    raise
                self._bring(connection, delivery, Sieve(connection, self.database.problems, self.database.secrets))

    def _bring(self, connection: Connection, delivery: Delivery, sieve: Sieve | None = None) -> None:
        """Update all tables to this batch, in one transaction; with a sieve, refused rows are left out."""
        tables = self._tables()
        with connection.transaction():
            ledgers = [self._ledger(connection, table, delivery.query) for _, table in tables]
            takes = [_takes(ledger, delivery) for ledger in ledgers]
            for (part, table), ledger, taken in zip(tables, ledgers, takes, strict=True):
                if taken:
                    again = not ledger.follows(delivery.number)
                    self._apply(connection, part, table, delivery, sieve, accepted=again)

    @contextmanager
    def _connected(self, delivery: Delivery) -> Iterator[Connection]:
        remedy = "Free what holds it (space, lock, network, a table of other columns)."
        with (
            blamed(self.database.address, delivery.number, self.database.problems, remedy, self.database.secrets),
            self.database.connected(delivery) as connection,
        ):
            yield connection

    def _tables(self) -> list[tuple[Part, Table]]:
        return [(part, table_of(part, name, self.shape)) for part, name in self.tables]

    def _fits(self, connection: Connection, table: Table) -> None:
        """Refuse a table whose rows the database could not tell apart."""
        place = f"{self.database.address}, table {table.name}"
        require_names(connection, table, place)
        if connection.has(table):
            require_columns_of_now(connection, table, place, self.database.problems)
            require_exact(connection, table, place, self.database.problems)

    def _require(self, connection: Connection, table: Table, delivery: Delivery) -> None:
        """Refuse a batch that does not follow, or whose table is gone though batches of it are noted."""
        ledger = Ledger(f"{self.database.address}, table {table.name},", delivery.query, None)
        if connection.has(_batches_beside(table)):
            ledger = self._ledger(connection, table, delivery.query)
        _takes(ledger, delivery)
        if ledger.newest is not None and not delivery.accepts and not connection.has(table):
            gone = f"{BATCHES} notes batches up to {ledger.newest} in it, and the table is gone."
            raise ledger.refused(delivery.number, gone)

    def _ledger(self, connection: Connection, table: Table, query: str) -> Ledger:
        """The newest batch of a query in a table."""
        batches = _batches_beside(table)
        condition, told = by_key(connection, batches, query, table.name)
        noted = f"FROM {named(connection, batches.name)} WHERE {condition}"
        newest, offsets = (
            connection.number(f"SELECT MAX({connection.quoted(column)}) {noted}", *told)
            for column in ("batch", "offsets_digest")
        )
        return Ledger(f"{self.database.address}, table {table.name},", query, newest, offsets)

    def _apply(
        self,
        connection: Connection,
        part: Part,
        table: Table,
        delivery: Delivery,
        sieve: Sieve | None,
        *,
        accepted: bool,
    ) -> None:
        """Update one table to this batch; where rows are only added, those of repeated batches are deleted first."""
        batch = delivery.batch
        if accepted and part is not Part.ROWS:
            remove(connection, table, batch.query, "batch", ">=", pa.scalar(batch.number, pa.int64()))
        done = changes_of(part, batch, table, self.shape)
        if sieve is None:
            delete(connection, table, done.gone)
            insert(connection, table.name, done.rows)
        else:
            self._sift(part, table, done, sieve, batch)
        if self.keep is not None and part is not Part.ROWS and (oldest := _oldest(batch, self.keep)) is not None:
            remove(connection, table, batch.query, "watermark", "<", oldest)
        noted = pa.table([[batch.query], [table.name], [batch.number], [delivery.offsets]], schema=_BATCHES)
        delete(connection, _batches_beside(table), noted.select(_batches_beside(table).key))
        insert(connection, _batches_beside(table).name, noted)

    def _sift(self, part: Part, table: Table, done: TableChanges, sieve: Sieve, batch: Batch) -> None:
        """Apply the changes that the database takes; refused rows of the result may become dead letters.

        A key that cannot be searched for is not in the table. A key whose row a constraint protects is.
        """
        rows = done.rows
        if part is Part.DEAD_LETTERS:
            rows = with_refused(rows, sieve.left_out, dict(self.tables)[Part.ROWS], batch)
        gone = sieve.refused(done.gone, lambda keys: delete(sieve.connection, table, keys), why=False)
        held = [each for each in gone if each.is_constraint]
        refused = sieve.refused(rows, lambda rows: insert(sieve.connection, table.name, rows))
        if held or (refused and not (self.to_letters and part is Part.ROWS)):
            raise stopped(held or refused, table, f"{self.database.address}, table {table.name}", batch.number)
        sieve.left_out += refused


def _takes(ledger: Ledger, delivery: Delivery) -> bool:
    return ledger.takes(delivery.number, accepts=delivery.accepts, offsets=delivery.offsets)


def _batches_beside(table: Table) -> Table:
    """The table that knows the newest batch of every query and table, in the same schema of the database."""
    schema, dot, _ = table.name.rpartition(".")
    return Table(f"{schema}{dot}{BATCHES}", _BATCHES, ("query", "table_name"))


def _oldest(batch: Batch, keep: Duration) -> pa.Scalar | None:
    """The oldest watermark whose dead letters and accounting stay; None where no watermark is known, or all stay."""
    newest = pc.max(batch.accounting["watermark"])
    micros = newest.cast(pa.int64()).as_py()
    if micros is None or micros - keep.micros < EARLIEST:
        return None
    return pa.scalar(micros - keep.micros, pa.int64()).cast(newest.type)
