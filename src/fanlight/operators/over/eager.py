"""The operator of `over` as rows come: each leaves at once, with what is known by then.

comes         9      5      9            in this order, a bundle each; a frame of the last 10
leaves with   9      5      5 9 9
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.operator import Operator, Progress
from fanlight.operators.over.carry import Carry, PendingRows
from fanlight.operators.over.evaluate import Release
from fanlight.operators.over.next_carry import kept_after
from fanlight.operators.over.order import in_order
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.over.withheld import withhold
from fanlight.state.store import ChunkStore


class EagerOver(Operator):
    """The rows of one shard that the watermark has not passed, as far as others look at them; the rest in the carry."""

    def __init__(self, plan: OverPlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._carry = Carry(plan, store)
        self._fresh: Bundle | None = None

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Note records until they leave, in the same step; those that the watermark had passed are expired."""
        expired = bundle.times < bundle.watermarks
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        self._fresh = bundle if len(bundle) else None
        return len(bundle)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows that have come, in their order, with the new columns."""
        fresh, self._fresh = self._fresh, None
        known = self._carry.pending()
        if fresh is None:
            self._pass_on(known, progress.watermark)
            return []
        pending, came = self._beside(known, fresh)
        release = self._release(pending, progress.watermark, came >= len(known))
        columns, outside = release.values()
        self._keep(release)
        places = came[release.leaving] - len(known)
        back = np.argsort(places)
        rows = [*fresh.batch.columns, *(column.take(pa.array(back)) for column in columns)]
        found = pa.RecordBatch.from_arrays(rows, schema=self._plan.result)
        told = {int(places[row]): misfits for row, misfits in outside.items()}
        return [withhold(found, told, self._books, progress.watermark)]

    def retire(self, progress: Progress) -> None:
        """At the end of the input nothing is kept."""
        if progress.ends:
            self._carry.clear()

    def _pass_on(self, known: PendingRows, watermark: Timestamp) -> None:
        """Put rows that the watermark has passed into the carry."""
        if len(known) and known.times[0] < watermark:
            self._keep(self._release(known, watermark, np.zeros(len(known), np.bool_)))

    def _beside(self, known: PendingRows, fresh: Bundle) -> tuple[PendingRows, Ints]:
        """The rows that are known and those that come, in the order of keys; and the place where each was before."""
        columns = [fresh.batch.column(name) for name in self._plan.waiting.names]
        both = PendingRows.concat([known, PendingRows(fresh.times, columns)])
        order = np.argsort(both.times, kind="stable")
        both = both.take(order)
        rows = pa.RecordBatch.from_arrays(both.columns, schema=self._plan.waiting)
        within = in_order(both.times, rows, self._plan.spec.order)
        return (both, order) if within is None else (both.take(within), order[within])

    def _release(self, pending: PendingRows, watermark: Timestamp, wanted: Bools) -> Release:
        return Release(self._plan, self._carry.context(), pending, self._carry.totals(), watermark, wanted=wanted)

    def _keep(self, release: Release) -> None:
        if release.passed.any():
            self._carry.write(*kept_after(release))
        else:
            self._carry.wait(release.pending)
