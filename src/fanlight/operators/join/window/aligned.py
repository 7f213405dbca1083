"""Joins by windows that all keys share: what is expired, which windows are complete, and how long rows are kept.

    window [start, end)    complete when both watermarks, less the lateness, have reached `end`

Rows lie in their log once, by time, however many windows they are in.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.model.reason import Reason
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.window.partners import WindowJoin
from fanlight.operators.join.window.sliced import end_of, ended_by, homeless_and_over, start_after, windows_between
from fanlight.operators.join.window.windowed_rows import in_order
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class AlignedJoin(WindowJoin):
    """A join by windows that are made of slices; subclasses say when pairs leave."""

    def __init__(self, plan: JoinPlan, slicing: Slicing, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        self._slicing = slicing

    def retire(self, progress: Progress) -> None:
        """Delete the rows whose windows are all complete."""
        horizon = start_after(self._slicing, self._complete(progress)[1])
        self._left.retire(horizon)
        self._right.retire(horizon)

    def _faults(self, times: Ints, judged: Ints) -> dict[Reason, Bools]:
        homeless, over = homeless_and_over(self._slicing, times, judged)
        return {Reason.NO_WINDOW: homeless, Reason.EXPIRED: over}

    def _complete(self, progress: Progress) -> tuple[int, int]:
        """The last window that is complete, before the step and after it."""
        sides = self._plan.spec.left, self._plan.spec.right
        least = [min(look(side, progress) for side in sides) for look in (self._before, self._after)]
        before, after = ended_by(self._slicing, np.array(least)).tolist()
        return before, after

    def _closed(self, progress: Progress, *, with_pairs: bool) -> list[pa.RecordBatch]:
        """The rows of the windows that this step completes."""
        before, after = self._complete(progress)
        if after <= before:
            return []
        since, until = start_after(self._slicing, before), end_of(self._slicing, after)
        lefts, rights = (in_order(log.between(since, until)) for log in (self._left, self._right))
        of_left, of_right = (windows_between(self._slicing, rows.times, before, after) for rows in (lefts, rights))
        return self._complete_rows((lefts, rights), (of_left, of_right), self._slicing, with_pairs=with_pairs)
