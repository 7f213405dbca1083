"""Where every record went: the counts that must add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.slicing import EVERY_WINDOW
from fanlight.model.letters import Reason
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.plan import MOMENT


@dataclass(slots=True)
class Accounting:
    """`received = accepted + duplicates + dead_letters`, after every step; and what else is counted beside that."""

    received: int = 0
    accepted: int = 0
    duplicates: int = 0
    dead_letters: int = 0
    missed_windows: int = 0
    """How many windows of their own records were not taken into: expired, or their pane had finished."""
    values_out_of_range: int = 0
    """How many firings did not leave, because their type cannot hold a value of theirs."""

    @property
    def adds_up(self) -> bool:
        """Whether every record is accounted for."""
        return self.received == self.accepted + self.duplicates + self.dead_letters

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


class DeadLetters:
    """Records that could not be used, with the reason and the watermark, until somebody takes them.

    `detail` is JSON text that says more where the reason alone does not tell all; otherwise it is null.
    """

    def __init__(self, schema: pa.Schema, *, of_times: bool = True) -> None:
        """`of_times` says whether the watermark is a time, as it mostly is, or a position."""
        self.schema = pa.schema(
            [
                pa.field("reason", pa.string()),
                pa.field("watermark", MOMENT if of_times else pa.int64()),
                pa.field("detail", pa.string()),
                pa.field("record", pa.struct(list(schema))),
            ]
        )
        self._waiting: list[pa.RecordBatch] = []

    def bury(
        self, batch: pa.RecordBatch, dead: Bools, reason: Reason, watermarks: Ints, details: pa.Array | None = None
    ) -> int:
        """Keep the records that `dead` marks, each with its detail if there are any; how many there are."""
        count = int(np.count_nonzero(dead))
        if count:
            records = batch.filter(pa.array(dead)) if count < len(batch) else batch
            record = pa.StructArray.from_arrays(records.columns, fields=list(records.schema))
            judged = moments(watermarks[dead] if len(watermarks) > 1 else np.repeat(watermarks, count))
            judged = judged.cast(self.schema.field("watermark").type)
            said = pa.nulls(count, pa.string()) if details is None else details
            columns = [pa.array([reason.value] * count), judged, said, record]
            self.add(pa.record_batch(columns, schema=self.schema))
        return count

    def withhold(self, details: list[str], watermark: Timestamp) -> None:
        """Keep a letter, which has no record, for each firing that did not leave."""
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
        """All of them, once."""
        table = self.peek()
        self._waiting = []
        return table

    def peek(self) -> pa.Table:
        """All of them, and they stay."""
        return pa.Table.from_batches(self._waiting, schema=self.schema)


def as_first(letters: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Letters of any stage as those of the first, which have `schema`.

    A later stage has no dead records, because what fires is never late for it; its letters tell of firings only.
    """
    if letters.schema == schema:
        return letters
    columns = [letters.column(field.name) for field in schema if field.name != "record"]
    return pa.record_batch([*columns, pa.nulls(len(letters), schema.field("record").type)], schema=schema)


def moments(times: Ints) -> pa.Array:
    """Times as Arrow timestamps; the two ends of time are null, and so is where a window without end would end."""
    if len(times) and times.min() > START_OF_TIME and times.max() < EVERY_WINDOW:
        return pa.array(times, pa.int64()).view(MOMENT)
    return pa.array(times, pa.int64(), mask=(times >= EVERY_WINDOW) | (times == START_OF_TIME)).cast(MOMENT)
