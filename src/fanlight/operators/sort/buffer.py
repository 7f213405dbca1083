"""The sort buffer: rows wait until the watermark has passed them, and leave in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, order_of, runs
from fanlight.kernels.grouping.row_identity import places_within
from fanlight.kernels.sort_time import check_tie, cut_at_times, sort_by_time
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.chunk_log import ChunkLog
from fanlight.operators.sort.gather import gather, joined
from fanlight.operators.sort.identity import NumberedRows, RowIdentity, deletes_of
from fanlight.state.store import ChunkStore

TimedRows = tuple[pa.RecordBatch, Ints]
"""Rows, and the time of each."""

_TIME = "time"
_OWN = "v."
"""A prefix of the rows' own columns, so that no name collides with the buffer's columns."""
_PART_ROWS = 1 << 14
"""A part is cut into pieces of this many rows or somewhat more.

If larger, a step reads and writes more rows than it emits. If smaller, bundles with distant times make more chunks.
"""


class SortBuffer:
    """The rows that are not complete yet, in a log of chunks for each part of the time axis.

    A part holds the rows from its start up to the start of the next. Parts follow the number of rows, not the clock:
    so a year with one row a minute does not make many small chunks, and a second with a million rows not one large.

        parts    [start of time ────)[12:03:07 ──)[12:03:09 ─────────────
        chunks    ▪▪▪                ▪▪            ▪▪▪▪
                         ^ watermark: the first part is read, its rows below leave, the others are written again

    Inserting reads nothing, until a part has many chunks and is compacted. Rows with the same time stay in the order
    of arrival. All state is in the store: a new buffer on the same store continues where the old one was, and after
    a rollback a new buffer must be made.

    >>> from fanlight.state.memory import MemoryStore
    >>> buffer = SortBuffer(MemoryStore(), pa.schema({"v": pa.string()}))
    >>> buffer.insert(pa.record_batch({"v": ["a", "b", "c"]}), np.array([50, 20, 30]))
    >>> buffer.peek(30)
    20
    >>> [rows.to_pydict() for rows, times in buffer.take(51)]
    [{'v': ['b', 'c', 'a']}]
    """

    def __init__(
        self,
        store: ChunkStore,
        schema: pa.Schema,
        *,
        ties: Sequence[str] = (),
        unique: Sequence[str] = (),
        timed: bool = False,
        space: str = "sort",
        part_rows: int = _PART_ROWS,
    ) -> None:
        """`ties` are the columns that order rows with the same time; `unique` are the columns that identify a row.

        `timed` says that rows with the same unique values have the same time.
        """
        for name in ties:
            check_tie(name, schema.field(name).type)
        self._schema = schema
        self._ties = tuple(ties)
        self._identity = RowIdentity(tuple(unique), timed)
        own = [field.with_name(_OWN + field.name) for field in schema]
        self._stored = pa.schema([pa.field(_TIME, pa.int64()), *own])
        self._log = ChunkLog(store, space)
        self._part_rows = part_rows

    def insert(self, rows: pa.RecordBatch, times: Ints) -> None:
        """Keep rows, each with its time, until the watermark passes them. They replace no other row."""
        if not len(rows):
            return
        batch = pa.record_batch([pa.array(times), *rows.columns], schema=self._stored)
        parts = self._parts_of(times)
        if parts[0] == parts[-1] and (parts == parts[0]).all():
            self._append(int(parts[0]), batch)
            return
        order = order_of(np.searchsorted(self._log.slices, times, side="right"))
        ordered = parts[order]
        for start, end in pairwise(runs(ordered).tolist()):
            self._append(int(ordered[start]), batch.take(pa.array(order[start:end])))

    def delete(self, rows: pa.RecordBatch, times: Ints) -> Bools:
        """Delete rows; returns which of them were there. See `apply`."""
        return self.change(rows, times, np.ones(len(rows), np.bool_))

    def apply(self, rows: pa.RecordBatch, times: Ints, ops: pa.Array) -> Bools:
        """Apply changes one after the other; returns false for each delete that finds no row.

        `+I` and `+U` insert, `-U` and `-D` delete. A delete removes the oldest row with the same time and values. With
        `unique` columns it removes the row with the same values in these, whatever its time, and an insert replaces
        that row: then every part is searched, unless such rows have the same time.
        """
        return self.change(rows, times, deletes_of(ops))

    def change(self, rows: pa.RecordBatch, times: Ints, is_delete: Bools) -> Bools:
        """Apply inserts and deletes one after the other; see `apply`.

        All changes are settled by row number, then each part that loses rows is rewritten, then the rows that stay are
        inserted.
        """
        if not is_delete.any() and not self._identity.is_unique:
            self.insert(rows, times)
            return ~is_delete
        changes = NumberedRows.of(self._identity.columns_of(rows, times), len(rows))
        sought = times if self._identity.is_unique else times[is_delete]
        searched = self._searched(sought)
        found = [self._find(part, changes, sought) for part in searched]
        live = changes.counts([numbers for _, numbers in found])
        settled = self._identity.settle(changes.groups, is_delete, live)
        for part, (places, numbers) in zip(searched, found, strict=True):
            self._remove(part, places[places_within(numbers) < settled.removed[numbers]])
        self.insert(rows.filter(pa.array(settled.stays)), times[settled.stays])
        return settled.finds

    def peek(self, watermark: Timestamp) -> Timestamp | None:
        """The least time of a complete row, one with `time < watermark`; None if no row is complete."""
        first = self._log.slices[:1].tolist()
        _, chunks = self._log.read(first)
        least = min((int(_times_of(chunk).min()) for chunk in chunks), default=watermark)
        return least if least < watermark else None

    def take(self, watermark: Timestamp) -> list[TimedRows]:
        """Remove and return the complete rows in order, with their times: a batch or more of each part.

        The order is by time, then by the columns `ties`, then by arrival. Parts above the watermark are not read.
        """
        if self.peek(watermark) is None:
            return []
        parts = self._log.slices
        due = parts[parts < watermark].tolist()
        return [timed for part in due for timed in self._take_part(part, watermark)]

    def clear(self) -> None:
        """Forget all rows, without a look at them."""
        self._log.retire(self._log.slices.tolist())

    def _parts_of(self, times: Ints) -> Ints:
        """The part of each time: the last part that starts at it or before."""
        starts = np.append(START_OF_TIME, self._log.slices)
        least, most = np.searchsorted(self._log.slices, [times.min(), times.max()], side="right")
        if least == most:
            return np.broadcast_to(starts[least], times.shape)
        return starts[np.searchsorted(self._log.slices, times, side="right")]

    def _append(self, part: int, chunk: pa.RecordBatch) -> None:
        self._put(part, chunk)
        if self._log.crowded([part]):
            batches, times = self._read(part)
            self._rewrite(part, batches, times, sort_by_time(times, []))

    def _put(self, part: int, chunk: pa.RecordBatch) -> None:
        self._log.append(np.full(len(chunk), part), chunk)

    def _read(self, part: int) -> tuple[list[pa.RecordBatch], Ints]:
        """All rows of a part and their times; rows with the same time in the order of arrival."""
        _, chunks = self._log.read([part])
        batches = joined(chunks, self._stored)
        return batches, np.concatenate([_times_of(batch) for batch in batches])

    def _rewrite(self, part: int, batches: list[pa.RecordBatch], times: Ints, order: Ints) -> None:
        """Replace a part by its rows at `order`, sorted by time; many rows become several parts."""
        self._log.retire([part])
        ordered = times[order]
        for start, end in pairwise(cut_at_times(ordered, self._part_rows).tolist()):
            self._put(int(ordered[start]) if start else part, gather(batches, order[start:end]))

    def _take_part(self, part: int, watermark: Timestamp) -> list[TimedRows]:
        """Remove and return the complete rows of a part, in order; the others are written again."""
        batches, times = self._read(part)
        ties = [pa.concat_arrays([batch.column(_OWN + name) for batch in batches]) for name in self._ties]
        order = sort_by_time(times, ties)
        ordered = times[order]
        complete = int(np.searchsorted(ordered, watermark))
        self._rewrite(part, batches, times, order[complete:])
        piece = complete if len(batches) == 1 else self._part_rows
        bounds = range(0, complete, max(piece, 1))
        rows = [self._rows_of(batch) for batch in batches]
        cuts = [slice(start, min(start + piece, complete)) for start in bounds]
        return [(gather(rows, order[cut]), ordered[cut]) for cut in cuts]

    def _rows_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with their own columns only, without the time."""
        return pa.RecordBatch.from_arrays(batch.columns[1:], schema=self._schema)

    def _searched(self, times: Ints) -> list[int]:
        """The parts in which a row that changes may lie: those of these times, or all."""
        parts = self._log.slices
        near = parts if self._identity.is_anywhere else np.intersect1d(parts, self._parts_of(times))
        return list(near.tolist())

    def _find(self, part: int, changes: NumberedRows, times: Ints) -> tuple[Ints, Ints]:
        """The places of a part's rows that a change may affect, and their row numbers among the changes."""
        batches, own = self._read(part)
        near = np.arange(len(own)) if self._identity.is_anywhere else np.flatnonzero(np.isin(own, times))
        rows = gather([self._rows_of(batch) for batch in batches], near)
        numbers = changes.find(self._identity.columns_of(rows, own[near]), len(near))
        return near[numbers >= 0], numbers[numbers >= 0]

    def _remove(self, part: int, gone: Ints) -> None:
        """Rewrite a part without the rows at these places."""
        if len(gone):
            batches, times = self._read(part)
            order = sort_by_time(times, [])
            self._rewrite(part, batches, times, order[~np.isin(order, gone)])


def _times_of(batch: pa.RecordBatch) -> Ints:
    times: Ints = batch.column(0).to_numpy()
    return times
