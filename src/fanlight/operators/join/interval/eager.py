"""An eager join: a pair leaves as soon as both rows are here, a row without a match when none can come any more.

right rows of the step  ×  left rows kept
left rows of the step   ×  right rows kept, and those of the step        each pair once
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.noted_rows import NotedRows
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore

_BOTH = 2
"""Rows of both sides leave alone."""


class _SideTimes(NamedTuple):
    """What the watermarks say of the rows of one side; pairs are before the step and after it."""

    due: tuple[Timestamp, Timestamp]
    """Before which time no row can find a match any more."""
    at_once: Timestamp
    """Before which time a row of this step expects none: it leaves at once if it has none."""
    kept: tuple[Timestamp, Timestamp]
    """From which time on rows are kept."""
    matched: Timestamp
    """From which time on rows that are kept can be matched."""


class JoinEager(IntervalJoin):
    """Rows of both sides are kept while a match of theirs can come."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        how = plan.spec.how
        self._left_matched = NotedRows(store, "left_matched") if how.pads_left or how.of_left_only else None
        self._right_matched = NotedRows(store, "right_matched") if how.pads_right else None
        self._came = (self._nothing(left=False), self._nothing(left=True))

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = (rights, lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The new pairs in the order of their left rows, and rows that will find no match."""
        how = self._plan.spec.how
        (rights, lefts), self._came = self._came, (self._nothing(left=False), self._nothing(left=True))
        left_times, right_times = self._side_times(progress)
        pairs = self._pairs_new(lefts, rights, left_times.matched, right_times.matched)
        first = self._noted(pairs, self._left_matched, left_times.kept[0], left=True)
        self._noted(pairs, self._right_matched, right_times.kept[0], left=False)
        joined = [] if how.of_left_only else self._joined_rows(pairs)
        joined += self._padded(first, left=True) if how is JoinType.SEMI else []
        left_alone = right_alone = None
        if how.pads_left or how is JoinType.ANTI:
            left_alone = self._unmatched(self._left, lefts, self._left_matched, left_times, left=True)
        if how.pads_right:
            right_alone = self._unmatched(self._right, rights, self._right_matched, right_times, left=False)
        self._right.append(rights.where(rights.times >= right_times.kept[1]))
        self._left.append(lefts.where(lefts.times >= left_times.kept[1]))
        alone = self._all_alone(left_alone, right_alone)
        return [*alone, *joined] if self._rules.pads_first else [*joined, *alone]

    def retire(self, progress: Progress) -> None:
        """Delete the rows whose matches can come no more."""
        left, right = self._kept(progress)
        self._left.retire(left)
        self._right.retire(right)
        if self._left_matched is not None:
            self._left_matched.retire(left)
        if self._right_matched is not None:
            self._right_matched.retire(right)

    def _kept(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        left, right = self._side_times(progress)
        return left.kept[1], right.kept[1]

    def _side_times(self, progress: Progress) -> tuple[_SideTimes, _SideTimes]:
        """What the watermarks say of left rows, and of right rows."""
        spec, match = self._plan.spec, self._match
        left = self._times_of(spec.left, self._passed(spec.right, progress), -match.most, progress)
        return left, self._times_of(spec.right, self._passed(spec.left, progress), match.least, progress)

    def _times_of(self, side: Side, other: tuple[Timestamp, Timestamp], reach: int, progress: Progress) -> _SideTimes:
        """What the watermarks say of a side: `other` is what the other side goes by, `reach` how far matches are."""
        before, after = moved(other[0], reach), moved(other[1], reach)
        if not self._rules.takes_late:
            return _SideTimes((before, after), after, (before, after), START_OF_TIME)
        lateness = self._plan.spec.lateness.micros
        at_once = moved(after, lateness)
        if not self._rules.keeps_length:
            return _SideTimes((before, after), at_once, (before, after), before)
        back = 1 - lateness - (self._match.most - self._match.least)
        held = [moved(moment, back) for moment in self._own(side, progress)]
        return _SideTimes((before, after), at_once, (min(before, held[0]), min(after, held[1])), held[0])

    def _noted(self, pairs: list[RowPairs], matched: NotedRows | None, horizon: Timestamp, *, left: bool) -> SideRows:
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
        self, log: SideLog, fresh: SideRows, matched: NotedRows | None, times: _SideTimes, *, left: bool
    ) -> SideRows:
        """The rows of a side that have no match, and can find none from now on, or came when none was expected."""
        assert matched is not None  # rows of this side can leave alone
        low, high = times.due
        kept = log.between(low, high) if high > low else self._nothing(left=left)
        due = SideRows.concat([kept, fresh.where(fresh.times < times.at_once)])
        alone = due.where(~matched.marks(due))
        matched.note(alone.where(alone.times >= high), times.kept[0])  # these are due once more
        return alone

    def _all_alone(self, lefts: SideRows | None, rights: SideRows | None) -> list[pa.RecordBatch]:
        """Rows without a match: left ones, then right ones; or of both sides by time, right ones first."""
        batches = [] if lefts is None else self._padded(lefts, left=True)
        batches += [] if rights is None else self._padded(rights, left=False)
        if not self._rules.pads_first or lefts is None or rights is None or len(batches) < _BOTH:
            return batches
        times = np.concatenate([np.sort(lefts.times), np.sort(rights.times)])
        is_left = np.repeat([1, 0], [len(lefts), len(rights)])
        order = np.lexsort([is_left, times])  # stable: rows of one side and time stay as they came
        return [pa.concat_batches(batches).take(pa.array(order))]
