"""Where every record went: the counts that must add up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW
from fanlight.model.continuation import RECORD
from fanlight.model.join.sides import COPY
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp

INPUT = "input"
"""The column in which the records of a union say from which input they came."""
MOMENT = pa.timestamp("us", "UTC")


@dataclass(slots=True)
class Accounting:
    """The counts of a shard, and the balance that holds after every step.

    `received = accepted + duplicates + dead_letters + filtered + dropped`.

    >>> Accounting(received=3, accepted=2, dead_letters=1).adds_up
    True
    """

    received: int = 0
    accepted: int = 0
    duplicates: int = 0
    dead_letters: int = 0
    filtered: int = 0
    """How many records the pipeline's own `where` left out."""
    dropped: int = 0
    """How many records a hook, `before_process`, left out."""
    missed_windows: int = 0
    """How many (record, window) pairs did not count, because the window had expired or its pane had finished."""
    values_out_of_range: int = 0
    """How many firings were withheld, because a value does not fit its type."""

    @property
    def adds_up(self) -> bool:
        """Whether every record is accounted for."""
        used = self.accepted + self.duplicates + self.dead_letters
        return self.received == used + self.filtered + self.dropped

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class Books:
    """The one owner of a shard's counts: each record is counted when it comes, and again by what became of it."""

    def __init__(self, schema: pa.Schema, *, of_times: bool = True, inputs: Sequence[str] = ()) -> None:
        """The books for records of these columns; `of_times` is as for `DeadLetters`.

        Where `inputs` have names, and records say theirs in the column `INPUT`, each has books of its own beside the
        others. Where a column `COPY` says so, records are copies of some in another shard: they are not counted, and
        none becomes a letter.
        """
        self.accounting = Accounting()
        self.letters = DeadLetters(schema, of_times=of_times)
        self.inputs = {name: Accounting() for name in inputs if INPUT in schema.names}
        self._input: str | None = None
        self._has_copies = COPY in schema.names

    def counted(self, batch: pa.RecordBatch) -> int:
        """How many records of a batch count: all but copies."""
        return len(batch) - (batch.column(COPY).true_count if self._has_copies else 0)

    def of_input(self, name: str | None) -> None:
        """Say of which input the records are that are counted next; None: each says so itself."""
        self._input = name if name in self.inputs else None

    def receive(self, records: int) -> None:
        """Count records that have come."""
        for book in self._open():
            book.received += records

    def accept(self, records: int) -> None:
        """Count records that were accepted; below zero, that they were not after all."""
        self.accounting.accepted += records

    def repeat(self, records: int) -> None:
        """Count duplicates."""
        for book in self._open():
            book.received += records
            book.duplicates += records

    def duplicate(self, batch: pa.RecordBatch, again: Bools) -> None:
        """Count the records that `again` marks as duplicates; that they have come was counted before."""
        self.accounting.duplicates += int(np.count_nonzero(again))
        for name, records in self._counted_by_input(batch, again):
            self.inputs[name].duplicates += records

    def filter(self, records: int) -> None:
        """Count records that the pipeline's own `where` left out."""
        for book in self._open():
            book.received += records
            book.filtered += records

    def drop(self, records: int) -> None:
        """Count records that a hook left out."""
        for book in self._open():
            book.received += records
            book.dropped += records

    def by_input(self) -> dict[str, dict[str, int]]:
        """The counts of each input; what was not left out, repeated or rejected was accepted."""
        for book in self.inputs.values():
            book.accepted = book.received - book.duplicates - book.dead_letters - book.filtered - book.dropped
        return {name: book.as_dict() for name, book in self.inputs.items()}

    def restore(self, counts: Mapping[str, int], inputs: Mapping[str, Mapping[str, int]]) -> None:
        """Continue from these counts; one that is not among them is 0."""
        for book, found in [(self.accounting, counts), *((self.inputs[n], inputs.get(n, {})) for n in self.inputs)]:
            for name, count in {**Accounting().as_dict(), **found}.items():
                setattr(book, name, count)

    def carry_on(self, before: Books) -> None:
        """Take over counts and letters of these books, of which a column had no type yet."""
        self.restore(before.accounting.as_dict(), before.by_input())
        for batch in before.letters.peek().cast(self.letters.schema).to_batches():
            self.letters.add(batch)

    def _open(self) -> Iterator[Accounting]:
        """The books that a count goes into."""
        yield self.accounting
        if self._input is not None:
            yield self.inputs[self._input]

    def _counted_by_input(self, batch: pa.RecordBatch, marked: Bools) -> list[tuple[str, int]]:
        """How many of the records that are marked each input has brought; nothing where inputs have no names."""
        if not self.inputs or not marked.any():
            return []
        found = pc.value_counts(batch.column(INPUT).filter(pa.array(marked))).to_pylist()
        return [(one["values"], one["counts"]) for one in found]

    def reject(
        self, batch: pa.RecordBatch, dead: Bools, reason: Reason, watermarks: Ints, details: pa.Array | None = None
    ) -> None:
        """Make dead letters of the records that `dead` marks, each with its detail if there are any."""
        if self._has_copies:
            own = ~batch.column(COPY).to_numpy(zero_copy_only=False)
            details = None if details is None else details.filter(pa.array(own[dead]))
            dead = dead & own
        self.accounting.dead_letters += self.letters.reject(batch, dead, reason, watermarks, details)
        for name, records in self._counted_by_input(batch, dead):
            self.inputs[name].dead_letters += records

    def miss(self, windows: int) -> None:
        """Count (record, window) pairs that did not count."""
        self.accounting.missed_windows += windows

    def withhold(self, details: list[str], watermark: Timestamp) -> None:
        """Write a dead letter for each firing that was withheld."""
        self.letters.withhold(details, watermark)
        self.accounting.values_out_of_range += len(details)


class DeadLetters:
    """Records that could not be used, with the reason and the watermark; they wait here until they are taken.

    `detail` is JSON text that adds to the reason where it must; otherwise it is null. Where records travel as one
    struct, beside what their stream goes by, a letter shows the record as it came.
    """

    def __init__(self, schema: pa.Schema, *, of_times: bool = True) -> None:
        """`of_times` says whether the watermark is a time or a position."""
        self.schema = pa.schema(
            [
                pa.field("reason", pa.string()),
                pa.field("watermark", MOMENT if of_times else pa.int64()),
                pa.field("detail", pa.string()),
                pa.field("record", pa.struct(_as_it_came(schema))),
            ]
        )
        self._waiting: list[pa.RecordBatch] = []

    def reject(
        self, batch: pa.RecordBatch, dead: Bools, reason: Reason, watermarks: Ints, details: pa.Array | None = None
    ) -> int:
        """Keep the records that `dead` marks, each with its detail if there are any; returns how many."""
        count = int(np.count_nonzero(dead))
        if count:
            records = batch.filter(pa.array(dead)) if count < len(batch) else batch
            records = records.drop_columns([COPY]) if COPY in records.schema.names else records
            fields = _as_it_came(records.schema)
            record = pa.StructArray.from_arrays(_columns_of(records, fields), fields=fields)
            judged = moments(watermarks[dead] if len(watermarks) > 1 else np.repeat(watermarks, count))
            judged = judged.cast(self.schema.field("watermark").type)
            said = pa.nulls(count, pa.string()) if details is None else details
            columns = [pa.array([reason.value] * count), judged, said, record]
            self.add(pa.record_batch(columns, schema=self.schema))
        return count

    def withhold(self, details: list[str], watermark: Timestamp) -> None:
        """Keep a letter for each firing that was withheld; such a letter has no record."""
        judged = moments(np.repeat(np.int64(watermark), len(details))).cast(self.schema.field("watermark").type)
        nobody = pa.nulls(len(details), self.schema.field("record").type)
        columns = [pa.array([Reason.VALUE_OUT_OF_RANGE.value] * len(details)), judged, pa.array(details), nobody]
        self.add(pa.record_batch(columns, schema=self.schema))

    def add(self, letters: pa.RecordBatch) -> None:
        """Keep letters that are already written."""
        self._waiting.append(letters)

    @property
    def count(self) -> int:
        """How many batches of letters wait."""
        return len(self._waiting)

    def cut(self, count: int) -> None:
        """Forget all but the first `count` batches: the step that wrote them failed."""
        del self._waiting[count:]

    def take(self) -> pa.Table:
        """Remove and return all letters."""
        table = self.peek()
        self._waiting = []
        return table

    def peek(self) -> pa.Table:
        """All letters; they stay."""
        return pa.Table.from_batches(self._waiting, schema=self.schema)


def _as_it_came(schema: pa.Schema) -> list[pa.Field]:
    """The columns that records had when they came: those of the whole record, and what is no part of it."""
    if RECORD not in schema.names:
        return [field for field in schema if field.name != COPY]
    whole = list(schema.field(RECORD).type)
    beside = {field.name for field in whole} | {RECORD}
    return [*whole, *(field for field in schema if field.name not in beside)]


def _columns_of(records: pa.RecordBatch, fields: Sequence[pa.Field]) -> list[pa.Array]:
    """These columns: of the whole record, where it has them."""
    if RECORD not in records.schema.names:
        return list(records.columns)
    whole = records.column(RECORD)
    own = dict(zip((field.name for field in whole.type), whole.flatten(), strict=True))
    return [own[field.name] if field.name in own else records.column(field.name) for field in fields]


def as_first(letters: pa.RecordBatch, schema: pa.Schema, stage: int) -> pa.RecordBatch:
    """Letters of the stage `stage` in the form of the first stage, which has `schema`.

    The records of a later stage are none of the first: they stand in the detail.
    """
    if letters.schema == schema and stage == 1:
        return letters
    said = zip(letters.column("detail").to_pylist(), letters.column("record").to_pylist(), strict=True)
    details = [_told(detail, record, stage) for detail, record in said]
    judged = letters.column("watermark")
    if judged.type != schema.field("watermark").type:  # one of the stages counts, and positions are no times
        judged = pa.nulls(len(letters), schema.field("watermark").type)
    columns = [letters.column("reason"), judged, pa.array(details, pa.string())]
    return pa.record_batch([*columns, pa.nulls(len(letters), schema.field("record").type)], schema=schema)


def _told(detail: str | None, record: dict[str, Any] | None, stage: int) -> str | None:
    """The detail of a letter of a later stage, with its record."""
    if record is None:
        return detail
    return json.dumps({**json.loads(detail or "{}"), "stage": stage, "record": record}, default=str)


def moments(times: Ints) -> pa.Array:
    """Times as Arrow timestamps; the start and the end of time, and the end of a window without one, are null."""
    if len(times) and times.min() > START_OF_TIME and times.max() < EVERY_WINDOW:
        return pa.array(times, pa.int64()).view(MOMENT)
    return pa.array(times, pa.int64(), mask=(times >= EVERY_WINDOW) | (times == START_OF_TIME)).cast(MOMENT)
