"""One batch of a query, as its sinks get it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import pyarrow as pa


class Part(Enum):
    """The three tables a result consists of; each may go to a place of its own."""

    ROWS = "rows"
    DEAD_LETTERS = "dead_letters"
    ACCOUNTING = "accounting"


class BatchNote(NamedTuple):
    """A place's note of the newest batch of a query, by which it recognises a repeat.

    >>> import json
    >>> BatchNote(*json.loads(json.dumps(BatchNote(7, -12))))
    BatchNote(number=7, offsets=-12)
    """

    number: int
    offsets: int | None
    """A digest of what the batch read, if known: it tells two batches with the same number apart."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of a query, whole: (`query`, `number`) names it, and a repeat has the same name and content.

    `query` is the durable id of the streaming query, the same after every restart from its checkpoint; for a batch
    DataFrame it is the name it was written under, and the number is 0.
    """

    query: str
    number: int
    rows: pa.Table
    dead_letters: pa.Table
    accounting: pa.Table
    offsets: int | None = None
    """A digest of what the batch read; None for a batch DataFrame, and where it is not known."""

    @property
    def note(self) -> BatchNote:
        """What a place notes when it has taken the batch."""
        return BatchNote(self.number, self.offsets)

    def part(self, part: Part) -> pa.Table:
        """The table of one part."""
        tables: dict[Part, pa.Table] = {
            Part.ROWS: self.rows,
            Part.DEAD_LETTERS: self.dead_letters,
            Part.ACCOUNTING: self.accounting,
        }
        return tables[part]
