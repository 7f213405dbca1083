"""What a shard keeps between two steps of `over`: rows that wait for others, rows that frames reach, and totals.

    pending    rows below the watermark whose frames are not complete, in full
    context    released rows that a later frame or function looks at, with the columns it reads
    totals     of each key: its newest time, its numbers, and the sums of frames without a start

Each is one chunk, read and written whole by steps that release rows: on Spark every chunk is a round trip.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Ints
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.operators.over.plan import OverPlan
from fanlight.state.store import ChunkStore

_PENDING, _CONTEXT, _TOTALS = 0, 1, 2
_OWN = "v."
"""A prefix of the rows' own columns, so that no name collides with those beside them."""


@dataclass(frozen=True, slots=True)
class PendingRows(Columnar):
    """Rows below the watermark that have not left, in the order of their times."""

    times: Ints
    columns: list[pa.Array]


@dataclass(frozen=True, slots=True)
class ContextRows(Columnar):
    """Released rows that are still looked at; those of a key in its order, and of one stretch."""

    times: Ints
    keys: list[pa.Array]
    columns: list[pa.Array]


@dataclass(frozen=True, slots=True)
class KeyTotals(Columnar):
    """What is known of each key, up to its newest released row."""

    last: Ints
    """The time of that row."""
    numbers: Ints
    """How many rows its stretch had by then."""
    ranks: Ints
    dense: Ints
    keys: list[pa.Array]
    partials: Partials


class CarriedTables:
    """The three tables as they are stored: each as columns of one batch."""

    def __init__(self, plan: OverPlan) -> None:
        self._keys = len(plan.spec.keys)
        self._sums = plan.totals
        time = pa.field("time", pa.int64())
        keys = [field.with_name(f"k.{place}") for place, field in enumerate(plan.keys)]
        own = [field.with_name(_OWN + field.name) for field in plan.context]
        numbers = [pa.field(name, pa.int64()) for name in ("last", "number", "rank", "dense")]
        self.pending_schema = pa.schema([time, *(field.with_name(_OWN + field.name) for field in plan.waiting)])
        self.context_schema = pa.schema([time, *keys, *own])
        self.totals_schema = pa.schema([*numbers, *keys, *plan.totals.fields])

    def pending(self, batch: pa.RecordBatch) -> PendingRows:
        """Rows that wait, read back."""
        return PendingRows(_ints(batch, 0), batch.columns[1:])

    def context(self, batch: pa.RecordBatch) -> ContextRows:
        """Released rows, read back."""
        columns = batch.columns[1:]
        return ContextRows(_ints(batch, 0), columns[: self._keys], columns[self._keys :])

    def totals(self, batch: pa.RecordBatch) -> KeyTotals:
        """What is known of keys, read back."""
        columns = batch.columns[4:]
        partials = self._sums.from_arrays(columns[self._keys :])
        last, numbers, ranks, dense = (_ints(batch, place) for place in range(4))
        return KeyTotals(last, numbers, ranks, dense, columns[: self._keys], partials)

    def of_pending(self, rows: PendingRows) -> pa.RecordBatch:
        """Rows that wait, to be written."""
        return pa.RecordBatch.from_arrays([pa.array(rows.times), *rows.columns], schema=self.pending_schema)

    def of_context(self, rows: ContextRows) -> pa.RecordBatch:
        """Released rows, to be written."""
        columns = [pa.array(rows.times), *rows.keys, *rows.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.context_schema)

    def of_totals(self, totals: KeyTotals) -> pa.RecordBatch:
        """What is known of keys, to be written."""
        numbers = (totals.last, totals.numbers, totals.ranks, totals.dense)
        columns = [*(pa.array(one) for one in numbers), *totals.keys, *self._sums.to_arrays(totals.partials)]
        return pa.RecordBatch.from_arrays(columns, schema=self.totals_schema)


class Carry:
    """The three tables in the store."""

    def __init__(self, plan: OverPlan, store: ChunkStore) -> None:
        self._tables = CarriedTables(plan)
        self._log = ChunkLog(store, "over")

    @property
    def is_empty(self) -> bool:
        """Whether no row waits."""
        return _PENDING not in self._log.slices

    def pending(self) -> PendingRows:
        """The rows that wait for others."""
        return self._tables.pending(self._read(_PENDING, self._tables.pending_schema))

    def context(self) -> ContextRows:
        """The released rows that are still looked at."""
        return self._tables.context(self._read(_CONTEXT, self._tables.context_schema))

    def totals(self) -> KeyTotals:
        """What is known of each key."""
        return self._tables.totals(self._read(_TOTALS, self._tables.totals_schema))

    def wait(self, pending: PendingRows) -> None:
        """Keep these rows waiting, in the place of those that did."""
        self._replace(_PENDING, self._tables.of_pending(pending))

    def write(self, pending: PendingRows, context: ContextRows, totals: KeyTotals) -> None:
        """Keep these in the place of all there was."""
        self.wait(pending)
        self._replace(_CONTEXT, self._tables.of_context(context))
        self._replace(_TOTALS, self._tables.of_totals(totals))

    def clear(self) -> None:
        """Forget everything."""
        self._log.retire(self._log.slices.tolist())

    def _read(self, table: int, schema: pa.Schema) -> pa.RecordBatch:
        return in_one(self._log.read([table])[1], schema)

    def _replace(self, table: int, batch: pa.RecordBatch) -> None:
        self._log.retire([table])
        if len(batch):
            self._log.replace(table, batch)


def _ints(batch: pa.RecordBatch, place: int) -> Ints:
    numbers: Ints = batch.column(place).to_numpy()
    return numbers
