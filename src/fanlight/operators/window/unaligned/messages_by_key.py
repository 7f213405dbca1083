"""The message store of unaligned windows: messages of live windows, and of expired windows that are still readable.

    records     messages that windows still have or may get, by their place: a time, or a position of the key
    kept        messages whose windows have all expired, by the end of the window they stay with

A message leaves the first space with its last window, and the second when that window is no longer readable.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode_together
from fanlight.kernels.search_key_time import window_rows
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.messages import as_messages, keys_of, message_schema
from fanlight.operators.window.offsets import Extremes, extremes, extremes_of_ranges, offset_column
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.leaving import leaving_of, of_members
from fanlight.operators.window.unaligned.record_windows import among
from fanlight.state.store import ChunkStore

_OWNER = [pa.field("owner_start", pa.int64()), pa.field("owner_end", pa.int64())]


class MessagesByKey:
    """The messages of one shard whose keys each have windows of their own."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._leaving = leaving_of(plan.spec.window, plan)
        self._width = self._leaving.width
        self._schema = message_schema(plan)
        self._kept_schema = pa.schema([*self._schema, *_OWNER])
        self._live = ChunkLog(store, "records")
        self._kept = ChunkLog(store, "kept")

    def append(self, accepted: Accepted) -> None:
        """Keep the records of a bundle."""
        self._add(self._live, accepted.bundle.times, as_messages(self._plan, accepted))

    def between(self, first: int, last: int) -> pa.RecordBatch:
        """At least the messages with places from `first` to `last`."""
        live = self._read(self._live, self._within(first, last))
        kept = self._read(self._kept, self._kept.slices)
        return in_one([live, kept.select(self._schema.names)], self._schema)

    def offsets(self, panes: Content) -> Extremes:
        """The first and last offset of each pane; panes that expire have their messages until `settle`."""
        assert panes.starts is not None  # unaligned windows store their starts
        messages = self._read(self._live, self._live.slices)
        offsets, count = offset_column(self._plan, messages), len(panes.windows)
        if panes.members is not None:
            owners = of_members(messages, *panes.members)
            return extremes(offsets.filter(pa.array(owners >= 0)), owners[owners >= 0], count)
        _, ours, theirs = encode_together(panes.keys, count, keys_of(self._plan, messages), len(messages))
        order, codes, places = sort_by_key_time(theirs, messages.column("time").to_numpy())
        low, high = window_rows(codes, places, ours, panes.starts, panes.windows)
        return extremes_of_ranges(offsets.take(pa.array(order)), low, high)

    def settle(self, expired: Content, readable: Content, dropped: Ints, step: StepTime) -> None:
        """Let messages follow their windows.

        Called after each step: `expired` are the windows that it has expired, `readable` all expired ones that can
        still be read, `dropped` the ends of those that no longer can.
        """
        for slice_ in np.intersect1d(dropped // self._width, self._kept.slices).tolist():
            kept = self._read(self._kept, np.array([slice_]))
            _replace(self._kept, slice_, kept.filter(pa.array(self._is_readable(kept, readable))))
        places = self._leaving.places(expired, step)
        if places is not None:
            for slice_ in self._within(*places).tolist():
                self._let_go(slice_, expired, readable)

    def _let_go(self, slice_: int, expired: Content, readable: Content) -> None:
        """Part the messages of a slice from those that leave; those whose window is readable are kept with it."""
        messages = self._read(self._live, np.array([slice_]))
        out, owners, windows = self._leaving.left(messages, expired, readable)
        if not out.any():
            return
        assert windows.starts is not None  # unaligned windows store their starts
        _replace(self._live, slice_, messages.filter(pa.array(~out)))
        held = out & (owners >= 0)
        bounds = [pa.array(column[owners[held]]) for column in (windows.starts, windows.windows)]
        kept = pa.record_batch([*messages.filter(pa.array(held)).columns, *bounds], schema=self._kept_schema)
        kept = kept.filter(pa.array(self._is_readable(kept, readable)))
        self._add(self._kept, kept.column("owner_end").to_numpy(), kept)

    def _is_readable(self, kept: pa.RecordBatch, readable: Content) -> Bools:
        """Which messages stay with a window that can be read."""
        assert readable.starts is not None
        _, ours, theirs = encode_together(readable.keys, len(readable.windows), keys_of(self._plan, kept), len(kept))
        starts, ends = (kept.column(field.name).to_numpy() for field in _OWNER)
        return among((theirs, ends, starts), (ours, readable.windows, readable.starts))

    def _within(self, first: int, last: int) -> Ints:
        """The slices of live messages with places from `first` to `last`."""
        slices = self._live.slices
        return slices[(slices >= first // self._width) & (slices <= last // self._width)]

    def _read(self, log: ChunkLog, slices: Ints) -> pa.RecordBatch:
        return in_one(log.read(slices.tolist())[1], self._schema if log is self._live else self._kept_schema)

    def _add(self, log: ChunkLog, places: Ints, batch: pa.RecordBatch) -> None:
        """Append rows to the slices of their places; a slice with many small chunks is compacted."""
        if not len(batch):
            return
        slices = places // self._width
        order = np.argsort(slices, kind="stable")
        touched = log.append(slices[order], batch.take(pa.array(order)))
        for slice_ in log.crowded(touched):
            log.replace(slice_, self._read(log, np.array([slice_])))


def _replace(log: ChunkLog, slice_: int, batch: pa.RecordBatch) -> None:
    """Put these rows in the place of a slice."""
    if len(batch):
        log.replace(slice_, batch)
    else:
        log.retire([slice_])
