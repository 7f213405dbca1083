"""An as-of join: a left row leaves when it is complete, with the nearest right row of its key.

left row at t     complete when no left row before it and no nearer right row can come:  t < min(WL, WR - most)
right rows        those from there on wait as they are; of those before, the last of each key is enough

                         what is complete       what waits
    right    ·  ·  3  ·  4    ·  5        │   6   7   8      (5 is the last before)
    left         ●    ●     ●             │     ●
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.nearest import earliest_rows, last_of_each, last_rows
from fanlight.kernels.join.probe import matches
from fanlight.kernels.sort_key_time import sort_by_key, sort_by_key_time
from fanlight.model.join.as_of import AsOfJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.join.as_of.found import NOBODY, Found, distances
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.join.sides import JoinOperator, moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class AsOfJoin(JoinOperator):
    """Left rows wait until they are complete; right rows wait for them, and the last of each key stays behind."""

    sorts_left: ClassVar[bool] = False

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert isinstance(plan.spec, AsOfJoinSpec)
        self._match = plan.spec.match
        self._newest: SideLog | None = None
        """The last right row of each key before what waits; None if that is not enough, or nothing looks back."""
        if self._match.looks_back and plan.spec.where is None:
            self._newest = SideLog(store, "newest", plan.right, self._last_of_keys)

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights.where(self._plan.has_keys(rights, left=False)))
        self._left.append(lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The left rows that are complete now, in their order."""
        low, high = self._complete(progress)
        lefts, due = self._left.due(low, high)
        return self._leaving(self._found(lefts, due, low), due) if len(due) else []

    def retire(self, progress: Progress) -> None:
        """Delete left rows that have left, and right rows that nothing complete later can match."""
        low, high = self._complete(progress)
        if high <= low:
            return
        self._left.drop(high)
        needed = moved(high, -self._match.reach) if self._match.looks_back else high
        if self._newest is None:
            self._right.drop(needed)
            return
        self._newest.append(self._last_of_keys(self._right.between(low, high).by_key()))
        self._newest.retire(needed)
        self._right.drop(high)

    def _complete(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        """From and up to which time left rows are complete now."""
        spec = self._plan.spec
        low, high = (
            min(look(spec.left, progress), moved(look(spec.right, progress), -self._match.most))
            for look in (self._before, self._after)
        )
        return low, high

    def _found(self, lefts: SideRows, due: Ints, low: Timestamp) -> Found:
        """The right row of each left row that is due, if it has one; they are at `low` or later."""
        match = self._match
        has_key = self._plan.has_keys(lefts, left=True)
        found = Found.nothing(lefts, due if has_key.all() else due[has_key[due]])
        behind = moved(low, -match.reach) if match.looks_back else low
        waiting = [*self._right.since(low if self._newest is not None else behind)]
        passed = [] if self._newest is None else [*self._newest.since(behind)]
        if self._plan.spec.where is not None:
            self._look_at_all(found, waiting, np.arange(len(found.left)))
            return found
        for chunk in sorted(waiting, key=len, reverse=True):
            self._search(found, chunk, None)
        for chunk in reversed(passed):  # what it has of a key is newer than what the chunks before have
            self._search(found, chunk, None if match.looks_ahead else np.flatnonzero(~found.has_match))
        if not self._plan.is_exact:
            self._check_keys(found, [*waiting, *passed])
        return found

    def _search(self, found: Found, chunk: SideRows, who: Ints | None) -> None:
        """Find the nearest row of a chunk for those who look: before them, and after them, as the match looks."""
        match, aside = self._match, int(not self._match.allow_exact)
        codes, times = (found.codes, found.times) if who is None else (found.codes[who], found.times[who])
        if match.looks_back:
            places = last_rows(chunk.codes, chunk.times, codes, times - match.reach, times - aside)
            found.look_at(chunk, who, places)
        if match.looks_ahead:
            places = earliest_rows(chunk.codes, chunk.times, codes, times + aside, times + match.reach)
            found.look_at(chunk, who, places)

    def _check_keys(self, found: Found, rights: list[SideRows]) -> None:
        """Codes of other keys can be equal: look again, row by row, where what was found has another key."""
        strangers = []
        for number in range(len(found.chunks)):
            who, pairs = found.pairs(number)
            strangers.append(who[~self._plan.meets(pairs)])
        who = np.sort(np.concatenate(strangers)) if strangers else np.zeros(0, np.int64)
        if len(who):
            found.forget(who)
            self._look_at_all(found, rights, who)

    def _look_at_all(self, found: Found, rights: list[SideRows], who: Ints) -> None:
        """Of all right rows in reach that meet the condition, find the nearest for these left rows."""
        match, some = self._match, found.lefts.take(found.left[who])
        low = some.times - (match.reach if match.looks_back else 0)
        high = some.times + (match.reach if match.looks_ahead else 0)
        for chunk in rights:
            places, right = matches(chunk.codes, chunk.times, some.codes, low, high)
            if not match.allow_exact:
                apart = chunk.times[right] != some.times[places]
                places, right = places[apart], right[apart]
            for pairs in self._met(RowPairs(some, chunk, places, right)):
                best = _nearest_pairs(pairs)
                found.look_at(chunk, who[best.left], best.right)

    def _leaving(self, found: Found, due: Ints) -> list[pa.RecordBatch]:
        """The rows of the left rows that are due, by time, then as they came."""
        how, lefts = self._plan.spec.how, found.lefts
        rights, right = self._nothing(left=False), np.full(len(lefts), NOBODY)
        if found.chunks:
            rights, right = self._shown(*found.rights())
        order = due[_by_time(lefts.times[due], lefts.came[due])]
        right = right[order]
        if how is not JoinType.LEFT:
            stays = (right < 0) if how is JoinType.ANTI else (right >= 0)
            order, right = order[stays], right[stays]
        return [self._plan.rows(RowPairs(lefts, rights, order, right))] if len(order) else []

    def _shown(self, rights: SideRows, right: Ints) -> tuple[SideRows, Ints]:
        """What is shown of the right rows that were found, and for each left row its place among them."""
        return rights, right

    def _last_of_keys(self, rows: SideRows) -> SideRows:
        """Of rows by key and time, the last of each key; of keys with one code perhaps some more."""
        if len(rows) < 2:
            return rows
        differs: Bools = rows.codes[1:] != rows.codes[:-1]
        if not self._plan.is_exact:
            differs |= ~self._plan.same_keys(rows.part(0, len(rows) - 1), rows.part(1, len(rows)))
        return rows.take(last_of_each(differs))


def _by_time(times: Ints, came: Ints) -> Ints:
    """The order of rows by time, then as they came; mostly they lie as they came."""
    if (came[1:] > came[:-1]).all():
        return sort_by_key(times)[0]
    return sort_by_key_time(times, came).order


def _nearest_pairs(pairs: RowPairs) -> RowPairs:
    """Of the pairs of each left row the nearest: before it rather than after, and of those of one time the last."""
    apart = distances(pairs.rights.times[pairs.right] - pairs.lefts.times[pairs.left])
    order = np.lexsort([-pairs.rights.came[pairs.right], apart, pairs.left])
    _, first = np.unique(pairs.left[order], return_index=True)
    return pairs.take(order[first])
