"""Retained unaligned windows: expired windows that stay readable, by time and by a count for each key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode
from fanlight.kernels.grouping.row_identity import places_within
from fanlight.model.retention import Retention
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.window.offsets import offset_fields
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.retained import forgotten_through
from fanlight.state.store import Address, ChunkStore

_SPACE = "retained"
_ADDRESS = Address(_SPACE, 0, 0)


class RetainedByKey:
    """The content of unaligned windows when they expired, in one chunk, by window end and key."""

    def __init__(self, plan: Plan, store: ChunkStore, retention: Retention) -> None:
        self._plan = plan
        self._store = store
        self._retention = retention
        own = [pa.field(name, pa.int64()) for name in ("start", "end", "rows")]
        values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
        self._schema = pa.schema([*own, *plan.key_fields, *values, *offset_fields(plan)])

    def keep(self, content: Content) -> None:
        """Append the content of windows to what is stored."""
        if not len(content.windows):
            return
        assert content.starts is not None  # unaligned windows store their starts
        own = [pa.array(column) for column in (content.starts, content.windows, content.rows)]
        batch = pa.record_batch([*own, *content.keys, *content.values, *(content.offsets or [])], schema=self._schema)
        self._write(pa.Table.from_batches([self._read(), batch]).combine_chunks())

    def trim(self, watermark: Timestamp) -> Ints:
        """Delete windows past their time, and all but the newest `count` windows of each key; returns their ends.

        A window that had fired and discarded all it held is stored for its messages only, and takes no other's place.
        """
        batch = self._read()
        ends: Ints = batch.column("end").to_numpy()
        kept = ends > forgotten_through(self._plan, self._retention, watermark)
        if self._retention.count is not None and len(batch):
            held = batch.column("rows").to_numpy() > 0
            keys = encode(batch.columns[3 : 3 + len(self._plan.key_fields)], len(batch)).codes.astype(np.int64)
            newer = _newer(keys)
            newer[held] = _newer(keys[held])
            kept &= newer < self._retention.count
        if not kept.all():
            self._write(pa.Table.from_batches([batch.filter(pa.array(kept))]))
        dropped: Ints = ends[~kept]
        return dropped

    def forgotten(self, windows: Ints, watermark: Timestamp) -> int:
        """The last of these windows that is no longer readable."""
        return forgotten_through(self._plan, self._retention, watermark)

    def content(self, first: int, last: int) -> Content:
        """The content of the retained windows that end from `first` to `last`."""
        batch = self._read()
        ends = batch.column("end").to_numpy()
        return self._content(
            batch.filter(pa.array(_between(ends, first, last) & (batch.column("rows").to_numpy() > 0)))
        )

    def every(self) -> Content:
        """All retained windows, those that had discarded all they held included."""
        return self._content(self._read())

    def _content(self, batch: pa.RecordBatch) -> Content:
        starts, ends, rows = (batch.column(name).to_numpy() for name in ("start", "end", "rows"))
        values, end = 3 + len(self._plan.key_fields), batch.num_columns - len(offset_fields(self._plan))
        columns = batch.columns
        return Content(ends, columns[3:values], rows, columns[values:end], starts, columns[end:])

    def _read(self) -> pa.RecordBatch:
        if _ADDRESS in self._store.list(_SPACE):
            return self._store.get(_ADDRESS)
        return pa.RecordBatch.from_pylist([], schema=self._schema)

    def _write(self, table: pa.Table) -> None:
        if len(table):
            self._store.put(_ADDRESS, table.to_batches()[0])
        elif _ADDRESS in self._store.list(_SPACE):
            self._store.delete(_ADDRESS)


def _newer(keys: Ints) -> Ints:
    """How many later rows have the same key."""
    return places_within(keys[::-1])[::-1]


def _between(ends: Ints, first: int, last: int) -> Bools:
    inside: Bools = (ends >= first) & (ends <= last)
    return inside
