"""What a shard keeps where rows are corrected: all rows that can change with the values they have shown, by key.

bucket 0    rows ▪▪  context ▪  totals ▪        a step reads and writes the buckets of the keys that it touches,
bucket 1    rows ▪                              and those in which something is due
…
due         when each bucket must be looked at again, whoever comes
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Ints, order_of, runs
from fanlight.kernels.row_hashes import row_hashes
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.chunk_log import ChunkLog
from fanlight.operators.over.carry import CarriedTables, ContextRows, KeyTotals
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.sort.gather import gather, joined
from fanlight.state.store import ChunkStore

_BUCKETS = 64
"""If more, a bundle of many keys makes more chunks; if fewer, a bundle of few keys reads more rows that it leaves."""
_ROWS, _CONTEXT, _TOTALS, _DUE = range(4)
_OWN, _NEW = "v.", "n."
"""Prefixes of the rows' own columns and of the new ones, so that no name collides with those beside them."""
_INDEX = pa.schema({"bucket": pa.int64(), "since": pa.int64()})

SHOWN, MISFIT = 1, 2
"""Of a row: whether it has left, with the values beside it; whether a value it should have does not fit its type."""


@dataclass(frozen=True, slots=True)
class ShownRows(Columnar):
    """Rows that can still change, in no order."""

    times: Ints
    came: Ints
    """Which number each had when it came."""
    flags: Ints
    columns: list[pa.Array]
    shown: list[pa.Array]
    """The values of the new columns that it has left with."""


@dataclass(frozen=True, slots=True)
class OpenBuckets:
    """What some buckets hold."""

    buckets: Ints
    rows: ShownRows
    context: ContextRows
    totals: KeyTotals

    def and_also(self, others: OpenBuckets) -> OpenBuckets:
        """With what other buckets hold."""
        return OpenBuckets(
            np.concatenate([self.buckets, others.buckets]),
            ShownRows.concat([self.rows, others.rows]),
            ContextRows.concat([self.context, others.context]),
            KeyTotals.concat([self.totals, others.totals]),
        )


class KnownRows:
    """The buckets in the store."""

    def __init__(self, plan: OverPlan, store: ChunkStore) -> None:
        self._plan = plan
        self._tables = CarriedTables(plan)
        self._log = ChunkLog(store, "over")
        own = [field.with_name(_OWN + field.name) for field in plan.waiting]
        new = [field.with_name(_NEW + field.name) for field in plan.outputs]
        numbers = [pa.field(name, pa.int64()) for name in ("time", "came")]
        self._rows = pa.schema([*numbers, pa.field("flags", pa.int8()), *own, *new])
        self._slack = 0 if plan.spec.by else _slack(plan)
        self._since: Ints | None = None  # by bucket, as it is in the store; None: not read yet

    def buckets_of(self, keys: list[pa.Array], rows: int) -> Ints:
        """The bucket of each row, by its key: the same on every machine."""
        return (row_hashes(keys, rows) % np.uint64(_BUCKETS)).astype(np.int64)

    def due(self, horizon: Timestamp) -> Ints:
        """The buckets in which rows are so old that something must be done about them."""
        return np.flatnonzero(self._due() < horizon)

    def open(self, buckets: Ints) -> OpenBuckets:
        """What these buckets hold."""
        rows = self._read(_ROWS, buckets, self._rows)
        times, came, flags = (rows.column(place).cast(pa.int64()).to_numpy() for place in range(3))
        own = 3 + len(self._plan.waiting)
        return OpenBuckets(
            buckets,
            ShownRows(times, came, flags, rows.columns[3:own], rows.columns[own:]),
            self._tables.context(self._read(_CONTEXT, buckets, self._tables.context_schema)),
            self._tables.totals(self._read(_TOTALS, buckets, self._tables.totals_schema)),
        )

    def write(self, kept: OpenBuckets, horizon: Timestamp) -> None:
        """Keep this in the place of what these buckets held."""
        self._log.retire([self._part(table, bucket) for bucket in kept.buckets.tolist() for table in range(_DUE)])
        rows = kept.rows
        numbers = [pa.array(rows.times), pa.array(rows.came), pa.array(rows.flags.astype(np.int8))]
        batch = pa.RecordBatch.from_arrays([*numbers, *rows.columns, *rows.shown], schema=self._rows)
        own = pa.RecordBatch.from_arrays(rows.columns, schema=self._plan.waiting)
        of_rows = self._append(_ROWS, batch, self._plan.keys_of(own))
        of_context = self._append(_CONTEXT, self._tables.of_context(kept.context), kept.context.keys)
        of_totals = self._append(_TOTALS, self._tables.of_totals(kept.totals), kept.totals.keys)
        known = self._due()
        since = known.copy()
        since[kept.buckets] = END_OF_TIME
        np.minimum.at(since, of_rows, rows.times)
        if not self._plan.spec.by:
            self._settle_later(since, kept, of_context, of_totals, horizon)
        if not np.array_equal(since, known):
            self._since = since
            held = np.flatnonzero(since < END_OF_TIME)
            index = pa.RecordBatch.from_arrays([pa.array(held), pa.array(since[held])], schema=_INDEX)
            self._log.replace(self._part(_DUE, 0), index)

    def clear(self) -> None:
        """Forget everything."""
        self._log.retire(self._log.slices.tolist())
        self._since = None

    def _settle_later(
        self, since: Ints, kept: OpenBuckets, of_context: Ints, of_totals: Ints, horizon: Timestamp
    ) -> None:
        """Look at a bucket again when the horizon is a while past what it holds: nobody sees when rows settle."""
        forget = self._plan.forget
        if forget is None or forget < END_OF_TIME:
            np.minimum.at(since, of_context, kept.context.times)
            np.minimum.at(since, of_totals, kept.totals.last)
        holds = kept.buckets[since[kept.buckets] < END_OF_TIME]
        least = np.maximum(since[holds], horizon)
        since[holds] = np.minimum(least, END_OF_TIME - 1 - self._slack) + self._slack

    def _due(self) -> Ints:
        if self._since is None:
            self._since = np.full(_BUCKETS, END_OF_TIME)
            for batch in self._log.read([self._part(_DUE, 0)])[1]:
                self._since[batch.column(0).to_numpy()] = batch.column(1).to_numpy()
        return self._since

    def _read(self, table: int, buckets: Ints, schema: pa.Schema) -> pa.RecordBatch:
        chunks = self._log.read([self._part(table, bucket) for bucket in buckets.tolist()])[1]
        batches = joined(chunks, schema)
        return batches[0] if len(batches) == 1 else gather(batches, np.arange(sum(map(len, batches))))

    def _append(self, table: int, batch: pa.RecordBatch, keys: list[pa.Array]) -> Ints:
        """Write rows into their buckets; returns the bucket of each."""
        buckets = self.buckets_of(keys, len(batch))
        if len(batch):
            order = order_of(buckets)
            ordered, sorted_ = buckets[order], batch.take(pa.array(order))
            for start, end in pairwise(runs(ordered).tolist()):
                self._log.replace(self._part(table, int(ordered[start])), sorted_.slice(start, end - start))
        return buckets

    @staticmethod
    def _part(table: int, bucket: int) -> int:
        return table * _BUCKETS + bucket


def _slack(plan: OverPlan) -> int:
    """How far the horizon may be past what a bucket holds before it is looked at."""
    retention = plan.spec.retention
    assert retention is not None
    lengths = [0 if retention.is_forever else retention.micros, plan.time_before]
    if plan.forget is not None and plan.forget < END_OF_TIME:
        lengths.append(plan.forget)
    return max(lengths) // 4
