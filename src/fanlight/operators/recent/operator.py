"""The operator of `recent`: each row leaves at once, and is taken back when the watermark is too far past it.

time     12:00   12:40   13:10                     recent("1 hour")
leaves   +I      +I      +I, then -D of 12:00      when the watermark comes to 13:10
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Ints, check_key
from fanlight.model.firing import Op
from fanlight.model.reason import Reason
from fanlight.model.recent import RecentSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.columns import plain, require_column
from fanlight.operators.ingest.operations import OperationReader
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.operators.sort.gather import require_movable
from fanlight.operators.sort.identity import require_comparable
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class RecentPlan:
    """What one shard needs to know: the spec, the reader of operations, and the columns of rows and of the result."""

    spec: RecentSpec
    reader: OperationReader | None
    """None if every record is a row."""
    rows: pa.Schema
    """The columns of a row: those of a record, of a change without its operation."""
    result: pa.Schema
    at: int
    """Where the operation stands in the result."""

    @staticmethod
    def of(spec: RecentSpec, schema: pa.Schema) -> RecentPlan:
        """Look the columns up; records that are rows must have no column of the name that operations get."""
        for name in spec.columns:
            require_column(schema, name)
        for name in spec.keys:
            check_key(name, schema.field(name).type)
        for field in schema:
            require_movable(field.name, field.type)
        op, reader = pa.field(spec.op, pa.string()), OperationReader.of(spec.changes, schema)
        if reader is None:
            if spec.op in schema.names:
                raise InputError(
                    f"recent: the records have a column {spec.op!r}, and the result says there what each row does. "
                    f"Give that column another name, as in select(…, kind={spec.op!r}); or, if it says what a record "
                    f"does to the rows before it, declare it, as in stream(…, op={spec.op!r})."
                )
            return RecentPlan(spec, None, schema, schema.append(op), len(schema))
        at = schema.get_field_index(spec.op)
        rows = schema.remove(at)
        for name in reader.changes.unique or rows.names:
            require_comparable(name, rows.field(name).type)
        return RecentPlan(spec, reader, rows, schema.set(at, op), at)

    def behind(self, watermarks: Ints) -> Ints:
        """The least time that is shown at each watermark."""
        reach = self.spec.within.micros
        return np.maximum(watermarks, START_OF_TIME + reach) - reach

    def said(self, rows: pa.RecordBatch, ops: pa.Array) -> pa.RecordBatch:
        """Rows with their operations."""
        columns = [*rows.columns[: self.at], ops, *rows.columns[self.at :]]
        return pa.RecordBatch.from_arrays(columns, schema=self.result)


def bind_recent(spec: RecentSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows that always tell all
    """The temporal filter bound to its columns; the output has those of the input, and the operation."""
    plan = RecentPlan.of(spec, schema)
    return BoundSpec(schema, plan.result, partial(Recent, plan), times=TimeReader.of(spec), op=spec.op)


class Recent(Operator):
    """The rows of one shard that are shown, by their times, and the changes of the step that is under way."""

    def __init__(self, plan: RecentPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        changes = None if plan.reader is None else plan.reader.changes
        # changes are consistent: a delete has its row in full, so that it is found at its time
        unique = () if changes is None else changes.unique
        self._shown = SortBuffer(store, plan.rows, unique=unique, timed=True, space="recent")
        self._leaving: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Let records leave; those that the watermark had passed too far before they came are expired.

        A delete takes its row away; one whose row is not shown is a dead letter.
        """
        plan = self._plan
        if plan.reader is not None:
            bundle = plan.reader.read(bundle, self._books)
        expired = bundle.times < plan.behind(bundle.watermarks)
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        if not len(bundle):
            return 0
        if bundle.deletes is not None:
            found = self._shown.change(self._rows_of(bundle), bundle.times, bundle.deletes)
            self._books.reject(bundle.batch, ~found, Reason.NO_SUCH_ROW, bundle.watermarks)
            bundle = bundle.where(found)
        else:
            self._shown.insert(self._rows_of(bundle), bundle.times)
        self._leaving.append(self._came(bundle))
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The records of this step in the order they came, then the rows that are taken back, by time.

        At the end of time nothing is: what is recent then stays so.
        """
        leaving, self._leaving = self._leaving, []
        if progress.watermark < END_OF_TIME:
            gone = self._shown.take(self._plan.spec.behind(progress.watermark))
            leaving += [self._plan.said(rows, _codes(Op.DELETE, len(rows))) for rows, _ in gone]
        return leaving

    def retire(self, progress: Progress) -> None:
        """At the end of time nothing is kept."""
        if progress.watermark >= END_OF_TIME:
            self._shown.clear()

    def _rows_of(self, bundle: Bundle) -> pa.RecordBatch:
        return bundle.batch if self._plan.reader is None else bundle.batch.drop_columns([self._plan.spec.op])

    def _came(self, bundle: Bundle) -> pa.RecordBatch:
        """The records of a bundle as rows that leave: a record inserts its row, a change does what it says."""
        if self._plan.reader is None:
            return self._plan.said(bundle.batch, _codes(Op.INSERT, len(bundle)))
        said = plain(bundle.batch.column(self._plan.spec.op)).cast(pa.string())
        return self._plan.said(self._rows_of(bundle), said)


def _codes(op: Op, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(op.code, pa.string()), rows)
