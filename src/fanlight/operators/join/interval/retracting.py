"""A join that is kept up to date: a row leaves at once, and is taken back when it is no row of the join any more.

comes                   leaves, of a left join
left a                  +I a –
right x, matches a      -D a –, +I a x
right y, matches a      +I a y
x and y are deleted     -D a x, -D a y, +I a –
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.firing import Op
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.join.changed_log import note_gone
from fanlight.operators.join.interval.match_counts import MatchCounts, added_up
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class SideTouched:
    """What a step does to one side: rows that came, and rows that were there and are gone."""

    fresh: SideRows
    gone: SideRows


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """Rows of a join: pairs, and rows of either side that leave by themselves."""

    pairs: list[RowPairs]
    left: SideRows
    right: SideRows


class JoinRetracting(IntervalJoin):
    """Rows of both sides are kept while a match of theirs can come or go, with how many they have."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        how = plan.spec.how
        self._left_counts = MatchCounts(store, "left_matched") if how.pads_left or how.of_left_only else None
        self._right_counts = MatchCounts(store, "right_matched") if how.pads_right else None
        self._came = self._nobody
        self._went = self._nobody

    def _take_back(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._went = rights, lefts

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = rights, lefts

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """First all rows that are taken back, then those that are new; each in the order of the left rows."""
        (came, self._came), (went, self._went) = (self._came, self._nobody), (self._went, self._nobody)
        if not any(map(len, (*came, *went))):
            return []
        right, left = (SideTouched(*both) for both in zip(came, went, strict=True))
        bounds = self._bounds(progress)
        taken = self._pairs_gone(left.gone, right.gone, bounds)
        added = self._pairs_new(left.fresh, right.fresh)
        lefts = self._turned(self._left_counts, left, taken, added, bounds[0][0], left=True)
        rights = self._turned(self._right_counts, right, taken, added, bounds[1][0], left=False)
        self._right.append(right.fresh.where(right.fresh.times >= bounds[1][1]))
        self._left.append(left.fresh.where(left.fresh.times >= bounds[0][1]))
        return [
            *self._said(JoinedRows(taken, lefts[0], rights[0]), Op.DELETE),
            *self._said(JoinedRows(added, lefts[1], rights[1]), Op.INSERT),
        ]

    def retire(self, progress: Progress) -> None:
        """Delete the rows whose matches can neither come nor go any more."""
        left, right = self._kept(progress)
        self._left.retire(left)
        self._right.retire(right)
        if self._left_counts is not None:
            self._left_counts.retire(left)
        if self._right_counts is not None:
            self._right_counts.retire(right)

    def _kept(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        (_, left), (_, right) = self._bounds(progress)
        return left, right

    @property
    def _nobody(self) -> tuple[SideRows, SideRows]:
        return self._nothing(left=False), self._nothing(left=True)

    def _bounds(self, progress: Progress) -> tuple[tuple[Timestamp, Timestamp], tuple[Timestamp, Timestamp]]:
        """Before which time no left row is needed, before the step and after it; and no right row.

        A row is needed while a match of it can come or go, and while it can be taken back itself.
        """
        spec = self._plan.spec
        lefts, rights = [], []
        for left, right in zip(self._passed(spec.left, progress), self._passed(spec.right, progress), strict=True):
            no_right, no_left = moved(right, -self._match.most), moved(left, self._match.least)
            lefts.append(no_right if spec.left.changes is None else min(left, no_right))
            rights.append(no_left if spec.right.changes is None else min(right, no_left))
        return (lefts[0], lefts[1]), (rights[0], rights[1])

    def _pairs_gone(
        self, lefts: SideRows, rights: SideRows, bounds: tuple[tuple[Timestamp, Timestamp], ...]
    ) -> list[RowPairs]:
        """The pairs of rows that are gone, each once; then these are in the logs no more."""
        pairs: list[RowPairs] = []
        if len(lefts):
            pairs += self._partners(lefts, self._right.since(int(lefts.times.min()) + self._match.least))
            note_gone(self._left, lefts, bounds[0][0])
        if len(rights):
            pairs += self._partners_of_right(rights, self._left.since(int(rights.times.min()) - self._match.most))
            note_gone(self._right, rights, bounds[1][0])
        return pairs

    def _turned(
        self,
        counts: MatchCounts | None,
        side: SideTouched,
        taken: list[RowPairs],
        added: list[RowPairs],
        horizon: Timestamp,
        *,
        left: bool,
    ) -> tuple[SideRows, SideRows]:
        """The rows of a side that do not leave by themselves any more, and those that do now."""
        if counts is None:
            return self._nothing(left=left), self._nothing(left=left)
        lost, won = ([_of_side(part, left=left) for part in pairs] for pairs in (taken, added))
        every = SideRows.concat([side.fresh, side.gone, *(rows.take(np.unique(places)) for rows, places in lost + won)])
        every = every.take(np.unique(every.came, return_index=True)[1])
        change = np.zeros(len(every), np.int64)
        for parts, sign in ((lost, -1), (won, 1)):
            for rows, places in parts:
                change += added_up(every.came, rows.came[places], np.full(len(places), sign))
        before = counts.of(every)
        # where nothing can be taken back, it is enough to know that a row has one
        notes = change if self._plan.spec.changes is not None else np.where(before > 0, 0, change)
        counts.add(every, notes, horizon)
        was = self._alone_with(before) & ~np.isin(every.came, side.fresh.came)
        will = self._alone_with(before + change) & ~np.isin(every.came, side.gone.came)
        return every.where(was & ~will), every.where(will & ~was)

    def _alone_with(self, matches: Ints) -> Bools:
        """Whether a row with so many matches leaves by itself."""
        return matches > 0 if self._plan.spec.how is JoinType.SEMI else matches == 0

    def _said(self, rows: JoinedRows, op: Op) -> list[pa.RecordBatch]:
        """Joined rows with an operation, in the order of the left rows; right rows by themselves come last."""
        if self._plan.spec.how.of_left_only:
            batches = self._padded(rows.left, left=True)
        else:
            alone = [self._alone(rows.left)] if len(rows.left) else []
            batches = self._joined_rows([*rows.pairs, *alone]) + self._padded(rows.right, left=False)
        said = pa.scalar(op.code, pa.string())
        return [
            pa.RecordBatch.from_arrays([*batch.columns, pa.repeat(said, len(batch))], schema=self._plan.result_with_op)
            for batch in batches
        ]


def _of_side(pairs: RowPairs, *, left: bool) -> tuple[SideRows, Ints]:
    return (pairs.lefts, pairs.left) if left else (pairs.rights, pairs.right)
