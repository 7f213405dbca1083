"""The sort operator: rows leave unchanged, in the order of their times, when the watermark has passed them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import check_key
from fanlight.kernels.sort_time import check_tie
from fanlight.model.changes import Changes
from fanlight.model.reason import Reason
from fanlight.model.sort import SortSpec
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.ingest.operations import OperationReader
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.operators.sort.gather import require_movable
from fanlight.operators.sort.identity import require_comparable
from fanlight.state.store import ChunkStore


def bind_sort(spec: SortSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A sort bound to its columns; the output has the columns of the input, without the operations of changes."""
    for name in spec.columns:
        require_column(schema, name)
    for name in spec.keys:
        check_key(name, schema.field(name).type)
    for name in spec.ties:
        check_tie(name, schema.field(name).type)
    for field in schema:
        require_movable(field.name, field.type)
    reader = OperationReader.of(spec.changes, schema)
    rows = schema if reader is None else schema.remove(schema.get_field_index(reader.changes.op))
    if reader is not None:
        for name in reader.changes.unique or rows.names:
            require_comparable(name, rows.field(name).type)
    return BoundSpec(schema, rows, partial(Sort, spec, rows, reader), times=TimeReader.of(spec))


class Sort(Operator):
    """The rows of one shard that are not complete, in a sort buffer."""

    def __init__(
        self, spec: SortSpec, rows: pa.Schema, reader: OperationReader | None, store: ChunkStore, books: Books
    ) -> None:
        self._books = books
        self._reader = reader
        self.takes_each_input = reader is None
        changes = Changes("") if reader is None else reader.changes
        self._buffer = SortBuffer(store, rows, ties=spec.ties, unique=changes.unique, timed=changes.timed)

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Keep records until they are complete; records that the watermark had passed before they came are expired.

        Changes are made to the rows that wait; a delete of a row that does not wait is a dead letter.
        """
        if self._reader is not None:
            bundle = self._reader.read(bundle, self._books)
        expired = bundle.times < bundle.watermarks
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        if self._reader is not None:
            return self._change(bundle, self._reader.changes)
        self._buffer.insert(bundle.batch, bundle.times)
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows that the watermark has passed, in order."""
        return [rows for rows, _ in self._buffer.take(progress.watermark)]

    def _change(self, bundle: Bundle, changes: Changes) -> int:
        """Make changes to the rows that wait; returns how many could be made."""
        if not len(bundle):
            return 0
        deletes = np.zeros(len(bundle), np.bool_) if bundle.deletes is None else bundle.deletes
        found = self._buffer.change(bundle.batch.drop_columns([changes.op]), bundle.times, deletes)
        self._books.reject(bundle.batch, ~found, Reason.NO_SUCH_ROW, bundle.watermarks)
        return int(np.count_nonzero(found))
