"""The operator that keeps the last of each id: rows wait until their group is complete.

comes ─► rows from the watermark on ─► rows of open groups, by the start of their group ─► the last of each leaves
                                    W                                            W - within
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.first_within import starts_within
from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.operator import Operator, Progress
from fanlight.operators.sort.buffer import SortBuffer, TimedRows
from fanlight.operators.sort.gather import gather, joined
from fanlight.operators.unique.kept_ids import HashedIds, KeptIds
from fanlight.operators.unique.plan import UniquePlan
from fanlight.state.store import ChunkStore

_OWN = "v."
"""A prefix of the rows' own columns, so that no name collides with the other columns."""


class UniqueLast(Operator):
    """The rows of one shard that wait: those that the watermark has not passed, and those of open groups.

    A record below the watermark is expired, so nothing comes between rows that the watermark has passed: they are put
    into groups in the order of their times, once. A group is complete when the watermark has passed all it can hold.
    """

    def __init__(self, plan: UniquePlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        numbers = [pa.field("time", pa.int64()), pa.field("came", pa.int64())]
        self._waits = pa.schema([*numbers, *(field.with_name(_OWN + field.name) for field in plan.rows)])
        self._ahead = SortBuffer(store, self._waits, space="ahead")
        self._open = SortBuffer(store, self._waits, space="groups")
        self._starts = KeptIds(store, plan.ids, plan.reach)

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Let records wait; those that the watermark had passed before they came are expired."""
        came = bundle.first + np.arange(len(bundle))
        expired = bundle.times < bundle.watermarks
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle, came = bundle.where(~expired), came[~expired]
        columns = [pa.array(bundle.times), pa.array(came), *bundle.batch.columns]
        self._ahead.insert(pa.RecordBatch.from_arrays(columns, schema=self._waits), bundle.times)
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The last row of each group that is complete, by time, then as they came."""
        released, horizon = self._ahead.take(progress.watermark), self._horizon(progress)
        if released:
            self._group(released, horizon)
        complete = self._open.take(horizon)
        if not complete:
            return []
        starts = np.concatenate([times for _, times in complete])
        return self._leave(joined([rows for rows, _ in complete], self._waits), starts)

    def retire(self, progress: Progress) -> None:
        """Forget the starts of groups that have left."""
        self._starts.forget(self._horizon(progress))

    def _horizon(self, progress: Progress) -> Timestamp:
        """Groups that start before it are complete."""
        return self._plan.spec.behind(progress.watermark)

    def _group(self, released: list[TimedRows], horizon: Timestamp) -> None:
        """Put rows into the groups that are open, or start new ones. Rows come in the order of their times."""
        times = np.concatenate([times for _, times in released])
        ids = HashedIds.of(self._ids_of([rows for rows, _ in released], len(times)))
        codes = ids.keys.codes.astype(np.int64, copy=False)
        starts, is_start = starts_within(codes, times, self._plan.reach, *self._starts.find(ids, times))
        stays = is_start & (times >= horizon)
        self._starts.insert(ids, codes[stays], times[stays])
        ends = np.cumsum([len(rows) for rows, _ in released])
        for (rows, _), end in zip(released, ends.tolist(), strict=True):
            self._open.insert(rows, starts[end - len(rows) : end])

    def _leave(self, batches: list[pa.RecordBatch], starts: Ints) -> list[pa.RecordBatch]:
        """The last row of each group; the others are duplicates, and were counted as accepted when they came."""
        times, came = (_column(batches, place).to_numpy() for place in range(2))
        is_last = self._last_of_groups(batches, starts)
        repeated = len(is_last) - int(np.count_nonzero(is_last))
        self._books.accept(-repeated)
        place = 0
        for batch in batches:
            self._books.duplicate(self._rows_of(batch), ~is_last[place : place + len(batch)])
            place += len(batch)
        last = np.flatnonzero(is_last)
        return [self._rows_of(gather(batches, last[np.lexsort([came[last], times[last]])]))]

    def _last_of_groups(self, batches: list[pa.RecordBatch], starts: Ints) -> Bools:
        """Which rows are the last of their id and start; rows of a group are in order."""
        rows = sort_by_key_time(self._ids_of(batches, len(starts)).codes, starts)
        ends = np.ones(len(starts), np.bool_)
        ends[:-1] = (rows.codes[1:] != rows.codes[:-1]) | (rows.times[1:] != rows.times[:-1])
        is_last = np.empty(len(starts), np.bool_)
        is_last[rows.order] = ends
        return is_last

    def _ids_of(self, batches: list[pa.RecordBatch], rows: int) -> KeyCodes:
        return self._plan.encoded([_column(batches, place + 2) for place in self._plan.places], rows)

    def _rows_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(batch.columns[2:], schema=self._plan.rows)


def _column(batches: list[pa.RecordBatch], place: int) -> pa.Array:
    """A column of several batches as one."""
    return pa.concat_arrays([batch.column(place) for batch in batches])
