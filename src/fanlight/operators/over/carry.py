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


class Carry:
    """The three tables in the store."""

    def __init__(self, plan: OverPlan, store: ChunkStore) -> None:
        self._plan = plan
        self._log = ChunkLog(store, "over")
        time = pa.field("time", pa.int64())
        keys = [field.with_name(f"k.{place}") for place, field in enumerate(plan.keys)]
        own = [field.with_name(_OWN + field.name) for field in plan.context]
        self._pending = pa.schema([time, *(field.with_name(_OWN + field.name) for field in plan.schema)])
        self._context = pa.schema([time, *keys, *own])
        numbers = [pa.field(name, pa.int64()) for name in ("last", "number", "rank", "dense")]
        self._totals = pa.schema([*numbers, *keys, *plan.totals.fields])

    @property
    def is_empty(self) -> bool:
        """Whether no row waits."""
        return _PENDING not in self._log.slices

    def pending(self) -> PendingRows:
        """The rows that wait for others."""
        batch = self._read(_PENDING, self._pending)
        return PendingRows(_ints(batch, 0), batch.columns[1:])

    def context(self) -> ContextRows:
        """The released rows that are still looked at."""
        batch, keys = self._read(_CONTEXT, self._context), len(self._plan.spec.keys)
        columns = batch.columns[1:]
        return ContextRows(_ints(batch, 0), columns[:keys], columns[keys:])

    def totals(self) -> KeyTotals:
        """What is known of each key."""
        batch, keys = self._read(_TOTALS, self._totals), len(self._plan.spec.keys)
        columns = batch.columns[4:]
        partials = self._plan.totals.from_arrays(columns[keys:])
        last, numbers, ranks, dense = (_ints(batch, place) for place in range(4))
        return KeyTotals(last, numbers, ranks, dense, columns[:keys], partials)

    def wait(self, pending: PendingRows) -> None:
        """Keep these rows waiting, in the place of those that did."""
        self._replace(_PENDING, [pa.array(pending.times), *pending.columns], self._pending)

    def write(self, pending: PendingRows, context: ContextRows, totals: KeyTotals) -> None:
        """Keep these in the place of all there was."""
        self.wait(pending)
        self._replace(_CONTEXT, [pa.array(context.times), *context.keys, *context.columns], self._context)
        numbers = (totals.last, totals.numbers, totals.ranks, totals.dense)
        sums = self._plan.totals.to_arrays(totals.partials)
        self._replace(_TOTALS, [*(pa.array(one) for one in numbers), *totals.keys, *sums], self._totals)

    def clear(self) -> None:
        """Forget everything."""
        self._log.retire(self._log.slices.tolist())

    def _read(self, table: int, schema: pa.Schema) -> pa.RecordBatch:
        return in_one(self._log.read([table])[1], schema)

    def _replace(self, table: int, columns: list[pa.Array], schema: pa.Schema) -> None:
        self._log.retire([table])
        if len(columns[0]):
            self._log.replace(table, pa.RecordBatch.from_arrays(columns, schema=schema))


def _ints(batch: pa.RecordBatch, place: int) -> Ints:
    numbers: Ints = batch.column(place).to_numpy()
    return numbers
