"""An eager join: a pair leaves as soon as both rows are here, a row without a match when none can come any more.

right rows of the step  ×  left rows kept
left rows of the step   ×  right rows kept, and those of the step        each pair once
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.join.interval.matched import Matched
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class JoinEager(IntervalJoin):
    """Rows of both sides are kept while a match of theirs can come."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        how = plan.spec.how
        self._left_matched = Matched(store, "left_matched") if how.pads_left or how.of_left_only else None
        self._right_matched = Matched(store, "right_matched") if how.pads_right else None
        self._came = (self._nothing(left=False), self._nothing(left=True))

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = (rights, lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The new pairs in the order of their left rows, then rows that will find no match."""
        how, match = self._plan.spec.how, self._match
        (rights, lefts), self._came = self._came, (self._nothing(left=False), self._nothing(left=True))
        pairs: list[RowPairs] = []
        if len(rights):
            pairs += self._partners_of_right(rights, self._left.since(int(rights.times.min()) - match.most))
        if len(lefts):
            kept = self._right.since(int(lefts.times.min()) + match.least)
            pairs += self._partners(lefts, [*kept, *([rights] if len(rights) else [])])
        left_due, right_due = self._bounds(progress)
        first = self._noted(pairs, self._left_matched, left_due[0], left=True)
        self._noted(pairs, self._right_matched, right_due[0], left=False)
        rows = [] if how.of_left_only else self._joined_rows(pairs)
        rows += self._padded(first, left=True) if how is JoinType.SEMI else []
        if how.pads_left or how is JoinType.ANTI:
            assert self._left_matched is not None
            rows += self._unmatched(self._left, lefts, self._left_matched, left_due, left=True)
        if how.pads_right:
            assert self._right_matched is not None
            rows += self._unmatched(self._right, rights, self._right_matched, right_due, left=False)
        self._right.append(rights.where(rights.times >= right_due[1]))
        self._left.append(lefts.where(lefts.times >= left_due[1]))
        return rows

    def retire(self, progress: Progress) -> None:
        """Delete the rows whose matches can come no more."""
        (_, left), (_, right) = self._bounds(progress)
        self._left.retire(left)
        self._right.retire(right)
        if self._left_matched is not None:
            self._left_matched.retire(left)
        if self._right_matched is not None:
            self._right_matched.retire(right)

    def _bounds(self, progress: Progress) -> tuple[tuple[Timestamp, Timestamp], tuple[Timestamp, Timestamp]]:
        """Before which time no left row can find a match, before the step and after it; and no right row."""
        spec = self._plan.spec
        lefts = [moved(look(spec.right, progress), -self._match.most) for look in (self._before, self._after)]
        rights = [moved(look(spec.left, progress), self._match.least) for look in (self._before, self._after)]
        return (lefts[0], lefts[1]), (rights[0], rights[1])

    def _noted(self, pairs: list[RowPairs], matched: Matched | None, horizon: Timestamp, *, left: bool) -> SideRows:
        """The rows of a side that have found their first match now; they are noted."""
        if matched is None or not pairs:
            return self._nothing(left=left)
        found = []
        for part in pairs:
            rows, places = (part.lefts, part.left) if left else (part.rights, part.right)
            found.append(rows.take(np.unique(places)))
        every = SideRows.concat(found)
        _, once = np.unique(every.came, return_index=True)
        every = every.take(once)
        fresh: Bools = ~matched.marks(every)
        new = every.where(fresh)
        matched.note(new, horizon)
        return new

    def _unmatched(
        self, log: SideLog, fresh: SideRows, matched: Matched, bounds: tuple[Timestamp, Timestamp], *, left: bool
    ) -> list[pa.RecordBatch]:
        """The rows of a side that have no match, and can find none from now on."""
        low, high = bounds
        kept = log.between(low, high) if high > low else self._nothing(left=left)
        due = SideRows.concat([kept, fresh.where(fresh.times < high)])
        return self._padded(due.where(~matched.marks(due)), left=left)
