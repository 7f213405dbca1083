"""The operator of `over` that keeps its rows up to date: whatever changes one takes it back, and it leaves anew.

comes     9           5                   a bundle each; a sum over the last 10
leaves    +I 9 4      +I 5 8
                      -U 9 4, +U 9 12
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.row_changes import SettledChanges, oldest_of, settle_equal
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.operations import OperationReader
from fanlight.operators.operator import Operator, Progress
from fanlight.operators.over.corrections import Corrections, Touched
from fanlight.operators.over.known_rows import KnownRows, ShownRows
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.over.withheld import withhold
from fanlight.operators.sort.identity import NumberedRows, RowIdentity, require_comparable
from fanlight.state.store import ChunkStore


def require_known(plan: OverPlan) -> None:
    """Refuse changes whose rows cannot be found again."""
    changes = plan.spec.changes
    if changes is not None:
        for name in changes.unique or plan.waiting.names:
            require_comparable(name, plan.waiting.field(name).type)


class RetractingOver(Operator):
    """The rows of one shard that can still change, with what they have shown."""

    def __init__(self, plan: OverPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._spec = plan.spec
        self._books = books
        self._reader = OperationReader.of(plan.spec.changes, plan.schema)
        self._known = KnownRows(plan, store)
        self._touched: Touched | None = None

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take records in as rows, or make the changes that they are; what is older than the retention is expired."""
        if self._reader is not None:
            bundle = self._reader.read(bundle, self._books)
        expired = bundle.times < self._horizons(bundle.watermarks)
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        if not len(bundle):
            return 0
        rows = bundle.batch.select(self._plan.waiting.names)
        known = self._known.open(np.unique(self._known.buckets_of(self._plan.keys_of(rows), len(rows))))
        came = self._as_rows(rows, bundle)
        if bundle.deletes is None:
            self._touched = Touched(known, np.zeros(len(known.rows), np.bool_), came)
            return len(bundle)
        settled, gone = self._settled(came, bundle.deletes, known.rows)
        self._books.reject(bundle.batch, ~settled.finds, Reason.NO_SUCH_ROW, bundle.watermarks)
        self._touched = Touched(known, gone, came.where(settled.stays))
        return int(np.count_nonzero(settled.finds))

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows that came, those that are taken back, and those whose values are others now."""
        touched, self._touched = self._touched, None
        horizon = self._spec.horizon(progress.watermark)
        touched = self._with_due(touched, horizon) if horizon < END_OF_TIME else touched
        if touched is None:
            return []
        corrections = Corrections(self._plan, touched, horizon)
        withhold(*corrections.misfits(), self._books, progress.watermark)
        self._known.write(corrections.kept(), horizon)
        rows = corrections.rows()
        return [rows] if len(rows) else []

    def retire(self, progress: Progress) -> None:
        """At the end of the input nothing is kept; what was shown stays."""
        if progress.ends:
            self._known.clear()

    def _horizons(self, watermarks: Ints) -> Ints:
        """The least time that a record can have at these watermarks, and still be taken in."""
        retention = self._spec.retention
        assert retention is not None  # the spec asks for it
        if retention.is_forever:
            return np.full(len(watermarks), START_OF_TIME)
        keep = retention.micros
        return np.where(watermarks == END_OF_TIME, END_OF_TIME, np.maximum(watermarks, START_OF_TIME + keep) - keep)

    def _as_rows(self, rows: pa.RecordBatch, bundle: Bundle) -> ShownRows:
        """Rows that come: they have shown nothing yet."""
        nothing = [pa.nulls(len(rows), field.type) for field in self._plan.outputs]
        came = bundle.first + np.arange(len(rows))
        return ShownRows(bundle.times, came, np.zeros(len(rows), np.int64), rows.columns, nothing)

    def _settled(self, came: ShownRows, deletes: Bools, known: ShownRows) -> tuple[SettledChanges, Bools]:
        """Make changes one after the other: how they end, and which of the known rows they take away."""
        changes = NumberedRows.of(self._identity(came), len(came))
        order = np.argsort(known.came)
        numbers = changes.find(self._identity(known), len(known))[order]
        settled = settle_equal(changes.groups, deletes, changes.counts([numbers[numbers >= 0]]))
        gone = np.empty(len(known), np.bool_)
        gone[order] = oldest_of(numbers, settled.removed)
        return settled, gone

    def _identity(self, rows: ShownRows) -> list[pa.Array]:
        """What tells rows apart: every delete has its row, so the time and the key are those of the row."""
        changes, names = self._spec.changes, self._plan.waiting.names
        assert changes is not None
        if changes.unique:
            names = list(dict.fromkeys([*self._spec.keys, *changes.unique]))
        batch = pa.RecordBatch.from_arrays(rows.columns, schema=self._plan.waiting)
        return RowIdentity().columns_of(batch.select(names), rows.times)

    def _with_due(self, touched: Touched | None, horizon: int) -> Touched | None:
        """With the buckets in which rows are due."""
        due = self._known.due(horizon)
        if touched is not None:
            due = np.setdiff1d(due, touched.known.buckets)
        if not len(due):
            return touched
        known = self._known.open(due)
        gone = np.zeros(len(known.rows), np.bool_)
        if touched is None:
            nobody = known.rows.part(0, 0)
            return Touched(known, gone, nobody)
        return Touched(touched.known.and_also(known), np.append(touched.gone, gone), touched.fresh)
