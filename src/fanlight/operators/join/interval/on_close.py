"""A join on close: a row is probed once, when it is complete, and leaves in order.

left row at t      complete when no left row before it and no match of it can come:   t < min(WL, WR - most)
right row at t     complete when no right row before it and no match of it can come:  t < min(WR, WL + least)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.join.changed_log import note_gone
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress


class JoinOnClose(IntervalJoin):
    """Both sides wait until they are complete."""

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights)
        self._left.append(lefts)

    def _take_back(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        left, right = self._needed(*(one[0] for one in self._complete(progress)))
        note_gone(self._left, lefts, left)
        note_gone(self._right, rights, right)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows that are complete now."""
        how = self._plan.spec.how
        (low, high), (right_low, right_high) = self._complete(progress)
        lefts = self._left.between(low, high).by_key() if high > low else self._nothing(left=True)
        pairs = self._partners(lefts, self._right.since(moved(low, self._match.least))) if len(lefts) else []
        rows: list[pa.RecordBatch] = []
        if how.of_left_only or how.pads_left:
            has_match = np.zeros(len(lefts), np.bool_)
            for part in pairs:
                has_match[part.left] = True
        if how.of_left_only:
            rows += self._padded(lefts.where(has_match if how is JoinType.SEMI else ~has_match), left=True)
        else:
            alone = lefts.where(~has_match) if how.pads_left else self._nothing(left=True)
            rows += self._joined_rows([*pairs, *([self._alone(alone)] if len(alone) else [])])
        if how.pads_right and right_high > right_low:
            rights = self._right.between(right_low, right_high).by_key()
            rows += self._padded(self._unmatched_right(rights, right_low), left=False)
        return rows

    def retire(self, progress: Progress) -> None:
        """Delete the rows that nothing complete later can match."""
        left, right = self._kept(progress)
        self._left.retire(left)
        self._right.retire(right)

    def _kept(self, progress: Progress) -> tuple[Timestamp, Timestamp]:
        return self._needed(*(one[1] for one in self._complete(progress)))

    def _needed(self, left: Timestamp, right: Timestamp) -> tuple[Timestamp, Timestamp]:
        """From which time on left and right rows are needed, where those before these times have left."""
        match, pads = self._match, self._plan.spec.how.pads_right
        needed = moved(left, match.least)
        return (min(left, moved(right, -match.most)), min(needed, right)) if pads else (left, needed)

    def _complete(self, progress: Progress) -> tuple[tuple[Timestamp, Timestamp], tuple[Timestamp, Timestamp]]:
        """From and up to which time left rows are complete now, and right rows."""
        spec = self._plan.spec
        steps = list(zip(self._passed(spec.left, progress), self._passed(spec.right, progress), strict=True))
        lefts = [min(left, moved(right, -self._match.most)) for left, right in steps]
        rights = [min(right, moved(left, self._match.least)) for left, right in steps]
        return (lefts[0], lefts[1]), (rights[0], rights[1])

    def _unmatched_right(self, rights: SideRows, low: Timestamp) -> SideRows:
        has_match = np.zeros(len(rights), np.bool_)
        since = moved(low, -self._match.most)
        for part in self._partners_of_right(rights, self._left.since(since)):
            has_match[part.right] = True
        return rights.where(~has_match)
