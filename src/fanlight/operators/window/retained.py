"""Retained windows: expired windows that stay readable, by time and by count, and never change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints, runs
from fanlight.kernels.slicing.slicing import NO_WINDOW
from fanlight.model.retention import Retention
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.window.offsets import offset_fields
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.state.store import Address, ChunkStore

_SPACE = "retained"


class Retained:
    """The content of windows when they expired."""

    def __init__(self, plan: Plan, store: ChunkStore, retention: Retention) -> None:
        self._plan = plan
        self._store = store
        self._retention = retention
        values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
        self._schema = pa.schema([*plan.key_fields, pa.field("rows", pa.int64()), *values, *offset_fields(plan)])
        self._windows = [address.part for address in store.list(_SPACE)]

    def keep(self, content: Content) -> None:
        """Keep the content of windows, one chunk for each window."""
        if not len(content.windows):
            return
        columns = [*content.keys, pa.array(content.rows), *content.values, *(content.offsets or [])]
        chunk = pa.record_batch(columns, schema=self._schema)
        bounds = runs(content.windows)
        windows: list[int] = content.windows[bounds[:-1]].tolist()
        for window, start, end in zip(windows, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._store.put(Address(_SPACE, window, 0), chunk.slice(start, end - start))
        self._windows = sorted({*self._windows, *windows})

    def trim(self, watermark: Timestamp) -> Ints:
        """Delete windows past their time, and all but the newest `count` windows; returns their numbers."""
        gone = set() if self._retention.count is None else set(self._windows[: -self._retention.count])
        through = forgotten_through(self._plan, self._retention, watermark)
        gone |= {window for window in self._windows if window <= through}
        for window in gone:
            self._store.delete(Address(_SPACE, window, 0))
        self._windows = [window for window in self._windows if window not in gone]
        return np.array(sorted(gone), np.int64)

    def forgotten(self, windows: Ints, watermark: Timestamp) -> int:
        """The last of these expired windows that is no longer readable, whether or not it had a record."""
        through = forgotten_through(self._plan, self._retention, watermark)
        if self._retention.count is not None and len(windows) > self._retention.count:
            through = max(through, int(windows[-self._retention.count - 1]))
        return through

    def content(self, first: int, last: int) -> Content:
        """The content of the retained windows first..last."""
        windows = [window for window in self._windows if first <= window <= last]
        if not windows:
            return Content.empty(self._plan)
        chunks = [self._store.get(Address(_SPACE, window, 0)) for window in windows]
        columns = pa.Table.from_batches(chunks, schema=self._schema).combine_chunks().to_batches()[0].columns
        keys, end = len(self._plan.key_fields), len(columns) - len(offset_fields(self._plan))
        owners = np.repeat(np.array(windows, np.int64), [len(chunk) for chunk in chunks])
        return Content(owners, columns[:keys], columns[keys].to_numpy(), columns[keys + 1 : end], offsets=columns[end:])


def forgotten_through(plan: Plan, retention: Retention, watermark: Timestamp) -> int:
    """The last window that is past its retention, by time."""
    time, lateness = retention.time, plan.spec.lateness
    if time.is_forever or (lateness.is_forever and watermark < END_OF_TIME):
        return NO_WINDOW
    if watermark < END_OF_TIME:
        watermark = max(watermark, -(2**61)) - lateness.micros - time.micros
    return int(plan.slicing.last_ending_by(np.array([watermark]))[0])
