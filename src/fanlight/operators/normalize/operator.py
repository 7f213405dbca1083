"""The operator of normalizing: each change leaves at once, after the row that it takes back.

comes     +I a 1      +I a 2            -D a
leaves    +I a 1      -U a 1, +U a 2    -D a 2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, check_key
from fanlight.kernels.row_changes import last_changes, oldest_of
from fanlight.model.firing import Op
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.ingest.operations import OperationReader
from fanlight.operators.normalize.live_rows import LiveRows, buckets_of
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.operators.sort.gather import gather, joined, require_movable
from fanlight.operators.sort.identity import NumberedRows, RowIdentity, require_comparable
from fanlight.state.store import ChunkStore

_CODES = pa.array([op.code for op in Op])


@dataclass(frozen=True, slots=True)
class NormalizePlan:
    """What one shard needs to know: the spec, the reader of operations, and the columns of rows and of the result."""

    spec: NormalizeSpec
    reader: OperationReader
    rows: pa.Schema
    """The columns of a row: those of a change without its operation."""
    result: pa.Schema


def bind_normalize(spec: NormalizeSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows that always tell all
    """Normalizing bound to its columns; the output has the columns of the input."""
    for name in spec.columns:
        require_column(schema, name)
    for name in spec.keys:
        check_key(name, schema.field(name).type)
    for field in schema:
        require_movable(field.name, field.type)
    reader = OperationReader.of(spec.changes, schema)
    assert reader is not None  # the spec has changes
    place = schema.get_field_index(spec.changes.op)
    rows, result = schema.remove(place), schema.set(place, pa.field(spec.changes.op, pa.string()))
    for name in spec.changes.unique or rows.names:
        require_comparable(name, rows.field(name).type)
    plan = NormalizePlan(spec, reader, rows, result)
    return BoundSpec(schema, result, partial(Normalize, plan), times=TimeReader.of(spec), op=spec.changes.op)


class Normalize(Operator):
    """The live rows of one shard, and the changes of the step that is under way."""

    def __init__(self, plan: NormalizePlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._keep = plan.spec.keep
        self._identity = RowIdentity(plan.spec.changes.unique)
        self._live = LiveRows(store, plan.rows, 0 if self._keep.is_forever else self._keep.micros // 4)
        self._leaving: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Make each change to the live rows; deletes of rows that do not live are dead letters."""
        bundle = self._plan.reader.read(bundle, self._books)
        expired = bundle.times < self._horizons(bundle.watermarks)
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        if not len(bundle):
            return 0
        found = self._change(bundle, progress)
        self._books.reject(bundle.batch, ~found, Reason.NO_SUCH_ROW, bundle.watermarks)
        return int(np.count_nonzero(found))

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The changes of this step, each with its row in full."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def retire(self, progress: Progress) -> None:
        """Forget the rows that can be changed no more; at the end of the input, all."""
        if progress.ends or not self._keep.is_forever:
            reached = np.array([progress.watermark])
            self._live.forget(progress.watermark if progress.ends else int(self._horizons(reached)[0]))

    def _horizons(self, watermarks: Ints) -> Ints:
        """The least time that a row can have at these watermarks and still be changed."""
        if self._keep.is_forever:
            return np.full(len(watermarks), START_OF_TIME)
        keep = self._keep.micros
        return np.maximum(watermarks, START_OF_TIME + keep) - keep

    def _change(self, bundle: Bundle, progress: Progress) -> Bools:
        """Make the changes of a bundle; returns which of them could be made. What leaves is noted."""
        rows = bundle.batch.drop_columns([self._plan.spec.changes.op])
        deletes = np.zeros(len(bundle), np.bool_) if bundle.deletes is None else bundle.deletes
        identity = self._identity.columns_of(rows, bundle.times)
        buckets = buckets_of(identity, len(bundle))
        if not (self._identity.is_unique or deletes.any()):
            self._live.insert(rows, bundle.times, buckets)
            self._leave([rows], np.arange(len(rows)), np.full(len(rows), int(Op.INSERT)))
            return ~deletes
        horizon = int(self._horizons(np.array([progress.before]))[0])
        live, times, owners = self._live.find(buckets, horizon)
        changes = NumberedRows.of(identity, len(bundle))
        numbers = changes.find(self._identity.columns_of(live, times), len(live))
        settled = self._identity.settle(changes.groups, deletes, changes.counts([numbers[numbers >= 0]]))
        both = joined([rows, live], self._plan.rows)
        if self._identity.is_unique:
            places = np.full(changes.groups.count, -1)
            places[numbers[numbers >= 0]] = len(rows) + np.flatnonzero(numbers >= 0)
            before = last_changes(changes.groups, deletes, places)
        else:  # the row that a delete takes back is equal to it
            before = np.where(deletes & settled.finds, np.arange(len(rows)), -1)
        self._leave(both, *_in_full(deletes, before))
        stays = ~oldest_of(numbers, settled.removed)
        self._live.replace(live, times, owners, stays)
        new = settled.stays
        self._live.insert(rows.filter(pa.array(new)), bundle.times[new], buckets[new])
        return settled.finds

    def _leave(self, batches: list[pa.RecordBatch], places: Ints, ops: Ints) -> None:
        """Note rows that leave, each with its operation."""
        if not len(places):
            return
        rows, result = gather(batches, places), self._plan.result
        at = result.get_field_index(self._plan.spec.changes.op)
        columns = [*rows.columns[:at], _CODES.take(pa.array(ops)), *rows.columns[at:]]
        self._leaving.append(pa.RecordBatch.from_arrays(columns, schema=result))


def _in_full(deletes: Bools, before: Ints) -> tuple[Ints, Ints]:
    """Changes as rows that leave: their places and operations. `before` is the place of the row that one takes back.

    It is -1 where there is none: then an insert is the first of its row, and a delete says nothing.
    """
    is_there = before >= 0
    sizes = ~deletes + is_there.astype(np.int64)
    starts: Ints = np.cumsum(sizes) - sizes
    places, ops = np.empty(int(sizes.sum()), np.int64), np.empty(int(sizes.sum()), np.int64)
    back = starts[is_there]
    places[back] = before[is_there]
    ops[back] = np.where(deletes[is_there], int(Op.DELETE), int(Op.RETRACT))
    inserts = np.flatnonzero(~deletes)
    new = starts[inserts] + is_there[inserts]
    places[new] = inserts
    ops[new] = np.where(is_there[inserts], int(Op.UPDATE), int(Op.INSERT))
    return places, ops
