"""The protocol of database connections."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from fanlight.sinks.database.tables import Table
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.shown_address import Secrets


class Connection(Protocol):
    """What a database is asked to do. Statements have a `?` for each column, and run once for each row."""

    def quoted(self, name: str) -> str:
        """An identifier as the database wants it, letter for letter."""
        ...

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
        ...

    def equal(self, column: pa.Field) -> tuple[str, int]:
        """The SQL condition that this column equals `?` byte for byte, and how many `?` it has."""
        ...

    def padded(self, table: Table) -> frozenset[str]:
        """The columns whose values the database pads to one length, so that blanks at their end are lost."""
        ...

    def retyped(self, table: Table, column: str) -> str:
        """The remedy for a column that does not compare byte for byte, for the error message."""
        ...

    @property
    def nowhere(self) -> str:
        """The FROM clause of a query without a table."""
        ...

    def too_long(self, name: str) -> int | None:
        """The longest name there may be, if this one is longer."""
        ...

    def ensure(self, table: Table) -> None:
        """Create the table if it is not there, outside of any transaction: not every database can do it inside."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All that runs inside becomes visible together, or not at all."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """Undo what runs inside, and only that, if it fails. Used inside a transaction."""
        ...

    def refuses(self, problem: Exception) -> bool:
        """Whether the database refuses a value, rather than fails for another reason."""
        ...

    def constrains(self, problem: Exception) -> bool:
        """Whether it is a constraint that a change would break: the row to delete may be there, and stays."""
        ...

    def run(self, statement: str, rows: pa.Table) -> None:
        """Run the statement with the values of each row; once if there are no columns."""
        ...

    def number(self, question: str, *values: str) -> int | None:
        """The single number that a query returns."""
        ...


class Database(Protocol):
    """A database by its address."""

    @property
    def address(self) -> str:
        """How it is written, without what is secret."""
        ...

    @property
    def secrets(self) -> Secrets:
        """Text that must not appear in messages about its connections."""
        ...

    @property
    def problems(self) -> tuple[type[Exception], ...]:
        """The exceptions that its connections raise."""
        ...

    def connected(self, delivery: Delivery) -> AbstractContextManager[Connection]:
        """A connection for this batch that is closed at the end, whatever happens."""
        ...
