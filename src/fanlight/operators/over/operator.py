"""The operator of `over` on close: rows leave with new columns when their frames are complete."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.reason import Reason
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.operator import Operator, Progress
from fanlight.operators.over.carry import Carry, PendingRows
from fanlight.operators.over.evaluate import Release
from fanlight.operators.over.next_carry import kept_after
from fanlight.operators.over.order import in_order
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.over.withheld import withhold
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.operators.sort.gather import gather, joined
from fanlight.state.store import ChunkStore


class Over(Operator):
    """The rows of one shard: those the watermark has not passed in a sort buffer, the others in the carry."""

    def __init__(self, plan: OverPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._buffer = SortBuffer(store, plan.schema)
        self._carry = Carry(plan, store)

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Keep records until the watermark passes them; those it had passed before they came are expired."""
        expired = bundle.times < bundle.watermarks
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        self._buffer.insert(bundle.batch, bundle.times)
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows whose frames are complete, with the new columns."""
        passed = self._passed(progress)
        pending = passed if self._carry.is_empty else PendingRows.concat([self._carry.pending(), passed])
        if not len(pending):
            return []
        release = Release(
            self._plan, self._carry.context(), pending, self._carry.totals(), progress.watermark, progress.ends
        )
        if not len(release.at):
            self._carry.wait(pending)
            return []
        columns, outside = release.values()
        self._carry.write(*kept_after(release))
        rows, leaving = release.batch, release.leaving
        rows = rows if len(leaving) == len(rows) else gather([rows], leaving)
        found = pa.RecordBatch.from_arrays([*rows.columns, *columns], schema=self._plan.result)
        return [withhold(found, outside, self._books, progress.watermark)]

    def retire(self, progress: Progress) -> None:
        """At the end of the input nothing is kept."""
        if progress.ends:
            self._carry.clear()

    def _passed(self, progress: Progress) -> PendingRows:
        """The rows that the watermark passes now, in the order of their times and of `order`."""
        taken = self._buffer.take(progress.watermark)
        if not taken:
            return PendingRows(np.zeros(0, np.int64), pa.RecordBatch.from_pylist([], schema=self._plan.schema).columns)
        times = np.concatenate([own for _, own in taken])
        batches = joined([rows for rows, _ in taken], self._plan.schema)
        rows = batches[0] if len(batches) == 1 else gather(batches, np.arange(len(times)))
        order = in_order(times, rows, self._plan.spec.order)
        passed = PendingRows(times, rows.columns)
        return passed if order is None else passed.take(order)
