"""A join on close: a row is probed once, when it is complete, and leaves in order.

left row at t      complete when no left row before it and no match of it can come:   t < min(WL, WR - most)
right row at t     complete when no right row before it and no match of it can come:  t < min(WR, WL + least)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.join.sides import JoinType
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.operator import Progress


class JoinOnClose(IntervalJoin):
    """Both sides wait until they are complete."""

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights)
        self._left.append(lefts)

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
        match, pads = self._match, self._plan.spec.how.pads_right
        (_, high), (_, right_high) = self._complete(progress)
        self._left.retire(min(high, moved(right_high, -match.most)) if pads else high)
        needed = moved(high, match.least)
        self._right.retire(min(needed, right_high) if pads else needed)

    def _complete(self, progress: Progress) -> tuple[tuple[Timestamp, Timestamp], tuple[Timestamp, Timestamp]]:
        """From and up to which time left rows are complete now, and right rows."""
        spec = self._plan.spec
        before, after = (
            (look(spec.left, progress), look(spec.right, progress)) for look in (self._before, self._after)
        )
        lefts = [min(left, moved(right, -self._match.most)) for left, right in (before, after)]
        rights = [min(right, moved(left, self._match.least)) for left, right in (before, after)]
        return (lefts[0], lefts[1]), (rights[0], rights[1])

    def _unmatched_right(self, rights: SideRows, low: Timestamp) -> SideRows:
        has_match = np.zeros(len(rights), np.bool_)
        since = moved(low, -self._match.most)
        for part in self._partners_of_right(rights, self._left.since(since)):
            has_match[part.right] = True
        return rights.where(~has_match)
