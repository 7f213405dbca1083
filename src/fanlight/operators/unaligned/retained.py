"""Expired windows of keys that stay readable: by time, and so many of each key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import encode
from fanlight.kernels.tuples import places_within
from fanlight.model.retention import Retention
from fanlight.model.timestamp import Timestamp
from fanlight.operators.panes import Content
from fanlight.operators.plan import Plan
from fanlight.operators.retained import forgotten_through
from fanlight.state.store import Address, ChunkStore

_SPACE = "retained"
_ADDRESS = Address(_SPACE, 0, 0)


class RetainedByKey:
    """What unaligned windows held when they expired, in one chunk, by window end and key."""

    def __init__(self, plan: Plan, store: ChunkStore, retention: Retention) -> None:
        self._plan = plan
        self._store = store
        self._retention = retention
        own = [pa.field(name, pa.int64()) for name in ("start", "end", "rows")]
        values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
        self._schema = pa.schema([*own, *plan.key_fields, *values])

    def keep(self, content: Content) -> None:
        """Keep what windows held, after what is kept already."""
        if not len(content.windows):
            return
        assert content.starts is not None  # unaligned windows say where they start
        own = [pa.array(column) for column in (content.starts, content.windows, content.rows)]
        batch = pa.record_batch([*own, *content.keys, *content.values], schema=self._schema)
        self._write(pa.Table.from_batches([self._read(), batch]).combine_chunks())

    def trim(self, watermark: Timestamp) -> None:
        """Forget what is past its time, and all but the newest `count` windows of each key."""
        batch = self._read()
        if not len(batch):
            return
        kept = batch.column("end").to_numpy() > forgotten_through(self._plan, self._retention, watermark)
        if self._retention.count is not None:
            keys = encode(batch.columns[3 : 3 + len(self._plan.key_fields)], len(batch))
            kept &= places_within(keys.codes[::-1].astype(np.int64))[::-1] < self._retention.count
        if not kept.all():
            self._write(pa.Table.from_batches([batch.filter(pa.array(kept))]))

    def forgotten(self, windows: Ints, watermark: Timestamp) -> int:
        """The last of these windows that is no longer readable."""
        return forgotten_through(self._plan, self._retention, watermark)

    def content(self, first: int, last: int) -> Content:
        """What the retained windows held that end from `first` to `last`."""
        batch = self._read()
        ends = batch.column("end").to_numpy()
        batch = batch.filter(pa.array(_between(ends, first, last)))
        starts, ends, rows = (batch.column(name).to_numpy() for name in ("start", "end", "rows"))
        width = len(self._plan.key_fields)
        return Content(ends, batch.columns[3 : 3 + width], rows, batch.columns[3 + width :], starts)

    def _read(self) -> pa.RecordBatch:
        if _ADDRESS in self._store.list(_SPACE):
            return self._store.get(_ADDRESS)
        return pa.RecordBatch.from_pylist([], schema=self._schema)

    def _write(self, table: pa.Table) -> None:
        if len(table):
            self._store.put(_ADDRESS, table.to_batches()[0])
        elif _ADDRESS in self._store.list(_SPACE):
            self._store.delete(_ADDRESS)


def _between(ends: Ints, first: int, last: int) -> Bools:
    inside: Bools = (ends >= first) & (ends <= last)
    return inside
