"""Find the rows of a batch that a database refuses, after it has refused the batch.

A refusal (U+0000 in PostgreSQL's text, NaN in MariaDB, a key longer than an index takes) concerns a row, and would come
again with every repeat. So the rows are tried once more in halves, each behind a savepoint:

    ────────    refused
    ────        taken
        ────    refused
        ──      taken
          ──    refused
          ─     refused: this one
           ─    taken
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SinkError
from fanlight.model.reason import Reason
from fanlight.sinks.as_text import as_json, jsonable, lines
from fanlight.sinks.batch import Batch
from fanlight.sinks.database.connection import Connection
from fanlight.sinks.database.tables import Table
from fanlight.sinks.shown_address import Secrets
from fanlight.sinks.sink import first_line

_LONGEST = 80
"""So much of a value is told."""

Attempt = Callable[[pa.Table], None]


@dataclass(frozen=True)
class Refused:
    """A row that the database refuses: its error, and the column that caused it, if it can be found."""

    row: pa.Table
    message: str
    column: str | None
    is_constraint: bool = False
    """Whether the table has a rule that the row breaks, rather than no room for one of its values."""

    def told(self, table: Table) -> str:
        """The row by its key, the column and its value, and what the database says."""
        key = ", ".join(f"{name} = {self._value(name)}" for name in table.key or table.schema.names[:4])
        column = "" if self.column is None else f" for its column {self.column!r} ({self._value(self.column)})"
        return f"it refuses the row with {key}{column}: {self.message}"

    def detail(self, table: str) -> str:
        """The same as JSON, for a dead letter."""
        return json.dumps({"table": table, "column": self.column, "message": self.message}, ensure_ascii=False)

    def _value(self, name: str) -> str:
        text = repr(jsonable(self.row[name])[0])
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Sieve:
    """Tries rows on a database, inside a transaction; `left_out` are the rows that become dead letters."""

    def __init__(self, connection: Connection, problems: tuple[type[Exception], ...], secrets: Secrets) -> None:
        self.connection = connection
        self.left_out: list[Refused] = []
        self._blamed: list[str] = []
        self._problems = problems
        self._secrets = secrets

    def refused(self, rows: pa.Table, attempt: Attempt, *, why: bool = True) -> list[Refused]:
        """Run `attempt` with all rows that the database takes; returns the others, and `why`, if that matters."""
        if not len(rows):
            return []
        problem = self._problem(rows, attempt)
        if problem is None:
            return []
        if len(rows) == 1:
            message = self._secrets.out_of(first_line(problem))
            column = self._column(rows, attempt) if why else None
            return [Refused(rows, message, column, self.connection.constrains(problem))]
        half = len(rows) // 2
        return [
            each for part in (rows.slice(0, half), rows.slice(half)) for each in self.refused(part, attempt, why=why)
        ]

    def _problem(self, rows: pa.Table, attempt: Attempt) -> Exception | None:
        """The database's refusal of these rows; any other error is raised."""
        try:
            with self.connection.savepoint():
                attempt(rows)
        except self._problems as problem:
            if not self.connection.refuses(problem):
                raise
            return problem
        return None

    def _column(self, row: pa.Table, attempt: Attempt) -> str | None:
        """A column without whose value the row would be taken; that of the last such row is tried first."""
        names = sorted(row.column_names, key=lambda name: name not in self._blamed)
        found = (name for name in names if row[name].null_count == 0 and self._takes_without(row, name, attempt))
        column = next(found, None)
        self._blamed = self._blamed if column is None else [column]
        return column

    def _takes_without(self, row: pa.Table, name: str, attempt: Attempt) -> bool:
        place = row.column_names.index(name)
        blank = row.set_column(place, row.schema.field(name), pa.nulls(1, row.schema.field(name).type))
        try:
            with self.connection.savepoint():
                attempt(blank)
                raise _Only
        except _Only:
            return True
        except self._problems:
            return False


class _Only(Exception):  # noqa: N818 -- no error: it takes back what was only tried
    """Raised to take a trial back."""


def with_refused(letters: pa.Table, refused: list[Refused], table: str, batch: Batch) -> pa.Table:
    """Dead letters as rows of their table, and behind them one for each row that `table` refused, which is its record.

    The watermark is the batch's, as far as one is known.
    """
    if not refused:
        return letters
    watermark = pc.max(batch.accounting["watermark"]).cast(letters.schema.field("watermark").type).as_py()
    rows = {
        "query": [batch.query] * len(refused),
        "batch": [batch.number] * len(refused),
        "watermark": [watermark] * len(refused),
        "reason": [Reason.REFUSED.value] * len(refused),
        "detail": [each.detail(table) for each in refused],
        "record": [next(lines(each.row)) for each in refused],
    }
    columns = [
        pa.array(rows[field.name], pa.string() if field.name == "record" else field.type) for field in letters.schema
    ]
    place = letters.column_names.index("record")
    texts = pa.array(as_json(letters["record"]), pa.string())
    told = letters.set_column(place, "record", texts)
    return pa.concat_tables([told, pa.table(columns, schema=told.schema)])


def stopped(refused: list[Refused], table: Table, place: str, number: int) -> SinkError:
    """The error for refused rows that are not to become dead letters."""
    more = f" {len(refused) - 1} more of its rows are refused as well." if len(refused) > 1 else ""
    return SinkError(
        f"write_to: {place} did not take batch {number}: {refused[0].told(table)}.{more} Nothing of the batch was "
        "written there. Say refused='letters': such rows then go to the dead letters, and all others are written. "
        "Or change the table, if another type, length or index would take the value. Then start the query again: it "
        "repeats the batch."
    )
