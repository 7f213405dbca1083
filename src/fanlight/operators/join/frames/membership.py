"""Which rows a window holds: by when they came, by how far behind they are, and by how long rows are kept.

rows(3)        the three that came last                       of the key, or of the side
range(t)       newest - t <= time                             newest of the key or the side; the watermark, if greater
unbounded      all
and always     watermark - retention <= time
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints, encode
from fanlight.kernels.join.newest import came_last, greatest_of_group
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import newest_rows, newest_time
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.join.frames.standing import SideStanding
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import moved


@dataclass(frozen=True)
class Membership:
    """The window of one side."""

    plan: JoinPlan
    is_left: bool
    rows: int | None
    """How many rows of a group it has at most."""
    range: int | None
    """How far behind the newest row of a group it reaches."""
    kept_for: int | None
    """How long rows are kept."""
    is_of_stream: bool

    @staticmethod
    def of(plan: JoinPlan, spec: FramesJoinSpec, side: Side) -> Membership:
        """The window that a side was declared to have."""
        frame = spec.match.frame(side.name)
        limits = newest_rows(frame), newest_time(frame), spec.kept_for
        return Membership(plan, side is spec.left, *limits, spec.is_of_stream)

    def since(self, standing: SideStanding) -> Timestamp:
        """The time before which no row is in any window of the side."""
        limits = [self._kept_since(standing)]
        if self.range is not None:
            newest = max(standing.newest, standing.reached) if self.is_of_stream else standing.reached
            limits.append(moved(newest, -self.range))
        return max(limits)

    def first(self, standing: SideStanding) -> int:
        """The number of the first row that can be in the window, where a side has one for all its rows."""
        return standing.count - self.rows if self.is_of_stream and self.rows is not None else 0

    def inside(self, rows: SideRows, standing: SideStanding) -> Bools:
        """Which of these rows are in the window; of the keys that they have, all rows are here that can be."""
        fine = rows.times >= self.since(standing)
        if self.is_of_stream:
            return fine & (rows.came >= self.first(standing))
        groups = self._groups(rows) if self.rows is not None or self.range is not None else rows.codes
        if self.rows is not None:
            fine &= came_last(groups, rows.came, self.rows)
        if self.range is not None:
            fine &= rows.times >= greatest_of_group(groups, rows.times) - self.range
        return fine

    def thinned(self, rows: SideRows) -> SideRows:
        """Rows without those that are in no window any more because of others among them that came later."""
        if self.rows is None:
            return rows
        groups = np.zeros(len(rows), np.int64) if self.is_of_stream else self._groups(rows)
        return rows.where(came_last(groups, rows.came, self.rows))

    def is_due(self, standing: SideStanding) -> bool:
        """Whether half of what the window reaches over, in time or in rows, has passed since rows were deleted last."""
        limits = [limit for limit in (self.range, self.kept_for) if limit is not None]
        if limits and standing.reached - standing.swept >= max(min(limits) // 2, 1):
            return True
        by_count = self.is_of_stream and self.rows is not None
        return by_count and standing.count - standing.swept_count >= max((self.rows or 0) // 2, 1)

    def _kept_since(self, standing: SideStanding) -> Timestamp:
        return START_OF_TIME if self.kept_for is None else moved(standing.reached, -self.kept_for)

    def _groups(self, rows: SideRows) -> Ints:
        """The key of each row as a number that no other key has."""
        if self.plan.is_exact:
            return rows.codes
        keys = self.plan.keys_of(rows, left=self.is_left)
        return encode(keys, len(rows)).codes.astype(np.int64, copy=False)
