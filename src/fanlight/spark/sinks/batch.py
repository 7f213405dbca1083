"""What one batch of a query hands to its sinks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.operators.accounting import as_first
from fanlight.spark.leaving import ACCOUNT, FIRING, LETTER
from fanlight.spark.sinks.shape import ACCOUNTING, Shape
from fanlight.spark.transit import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Part(Enum):
    """The three tables a result consists of; each may go to a place of its own."""

    ROWS = "rows"
    DEAD_LETTERS = "dead_letters"
    ACCOUNTING = "accounting"

    @property
    def kind(self) -> str:
        """How what leaves a shard says that it belongs here."""
        return {Part.ROWS: FIRING, Part.DEAD_LETTERS: LETTER, Part.ACCOUNTING: ACCOUNT}[self]


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

    def part(self, part: Part) -> pa.Table:
        """One of the three tables."""
        tables: dict[Part, pa.Table] = {
            Part.ROWS: self.rows,
            Part.DEAD_LETTERS: self.dead_letters,
            Part.ACCOUNTING: self.accounting,
        }
        return tables[part]


class Leaving:
    """One batch on its way: a frame for sinks that let the executors write, the same collected for all others."""

    def __init__(
        self,
        query: str,
        number: int,
        frame: DataFrame,
        shape: Shape,
        *,
        offsets: int | None = None,
        accepts: bool = False,
    ) -> None:
        """`offsets` is a digest of what the batch reads, the same for a repeat; `accepts` says that a place takes the
        batch also if it does not follow what the place holds.
        """
        self.query = query
        self.number = number
        self.frame = frame
        self.shape = shape
        self.offsets = offsets
        self.accepts = accepts

    @property
    def session(self) -> SparkSession:
        """The session the batch belongs to."""
        return self.frame.sparkSession

    @cached_property
    def batch(self) -> Batch:
        """All of it on the driver, collected at the first call only."""
        return batch_of(self.frame.toArrow(), self.shape, self.query, self.number)


def batch_of(leaving: pa.Table, shape: Shape, query: str, number: int) -> Batch:
    """The batch that these rows of `LEAVING` are; chunks keep the order in which they left their shard."""
    kinds, payloads = leaving["kind"].to_pylist(), leaving["payload"]
    chunks: dict[str, list[pa.RecordBatch]] = {FIRING: [], LETTER: []}
    for kind, payload in zip(kinds, payloads, strict=True):
        if kind in chunks:
            chunks[kind].append(opened(payload.as_buffer()))
    letters = [as_first(chunk, shape.dead_letters) for chunk in chunks[LETTER]]
    return Batch(
        query,
        number,
        pa.Table.from_batches(chunks[FIRING], shape.rows),
        pa.Table.from_batches(letters, shape.dead_letters),
        _accounts(leaving, number),
    )


def _accounts(leaving: pa.Table, number: int) -> pa.Table:
    steps = leaving.filter(pc.equal(leaving["kind"], ACCOUNT)).select(ACCOUNTING.names).cast(ACCOUNTING)
    numbers = pa.repeat(pa.scalar(number, pa.int64()), len(steps))
    return steps.set_column(ACCOUNTING.get_field_index("batch"), ACCOUNTING.field("batch"), numbers)
