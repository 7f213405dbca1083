"""What a database is asked to do, whichever it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from fanlight.spark.sinks.batch import Leaving
from fanlight.spark.sinks.shown import Secrets
from fanlight.spark.sinks.tables import Table


class Connection(Protocol):
    """What a database is asked to do. Statements have a `?` for each column, and run once for each row."""

    def quoted(self, name: str) -> str:
        """An identifier as the database wants it, letter for letter."""
        ...

    def has(self, table: Table) -> bool:
        """Whether the table is there."""
        ...

    def equal(self, column: pa.Field) -> tuple[str, int]:
        """What is true of a row that has the value `?` in this column, byte for byte, and how often it says `?`."""
        ...

    def padded(self, table: Table) -> frozenset[str]:
        """The columns whose values are filled up to one length, so that what was at their end cannot be told."""
        ...

    def retyped(self, table: Table, column: str) -> str:
        """What a user does about a column that does not compare byte for byte."""
        ...

    @property
    def nowhere(self) -> str:
        """What a question that concerns no table has to ask."""
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
        """Take back what runs inside, and only that, if it fails. Inside of a transaction."""
        ...

    def refuses(self, problem: Exception) -> bool:
        """Whether the database says that a value cannot be kept, rather than that it cannot work."""
        ...

    def constrains(self, problem: Exception) -> bool:
        """Whether it is a constraint that a change would break: the row to delete may be there, and stays."""
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
