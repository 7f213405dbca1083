"""The operator that keeps the first of each id: it leaves at once, and its id is remembered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.first_within import first_within
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.operator import Operator, Progress
from fanlight.operators.unique.kept_ids import HashedIds, KeptIds
from fanlight.operators.unique.plan import UniquePlan
from fanlight.state.store import ChunkStore


class UniqueFirst(Operator):
    """The ids of one shard that rows have left with, and the rows of the step that is under way."""

    def __init__(self, plan: UniquePlan, store: ChunkStore, books: Books) -> None:
        self._plan = plan
        self._books = books
        self._kept = KeptIds(store, plan.ids, plan.reach)
        self._leaving: list[pa.RecordBatch] = []

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Let the first record of each id leave; those in reach of one that left are duplicates.

        A record so far behind the watermark that the one it repeats may be forgotten is expired.
        """
        plan = self._plan
        expired = bundle.times < plan.behind(bundle.watermarks)
        if expired.any():
            self._books.reject(bundle.batch, expired, Reason.EXPIRED, bundle.watermarks)
            bundle = bundle.where(~expired)
        if not len(bundle):
            return 0
        ids = HashedIds.of(plan.encoded([bundle.batch.column(place) for place in plan.places], len(bundle)))
        codes = ids.keys.codes.astype(np.int64, copy=False)
        is_first = first_within(codes, bundle.times, plan.reach, *self._kept.find(ids, bundle.times))
        self._books.duplicate(bundle.batch, ~is_first)
        stays = is_first & (bundle.times >= self._horizon(progress))
        self._kept.insert(ids, codes[stays], bundle.times[stays])
        self._leaving.append(bundle.batch.filter(pa.array(is_first)))
        return int(np.count_nonzero(is_first))

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of this step, in the order they came."""
        leaving, self._leaving = [rows for rows in self._leaving if len(rows)], []
        return leaving

    def retire(self, progress: Progress) -> None:
        """Forget the ids that no record can be in reach of any more; slices go as a whole."""
        self._kept.forget(self._horizon(progress))

    def _horizon(self, progress: Progress) -> Timestamp:
        """The least time that must be remembered: twice `within` before the watermark.

        t0 ├───── reach ─────┤
                             ├──── expired from here ────┤ W     t0 can go when W is further than this
        """
        spec = self._plan.spec
        return spec.behind(spec.behind(progress.watermark))
