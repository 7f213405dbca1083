"""An eager join by window: a pair leaves as soon as both rows are here, a row alone when its window is complete.

Which rows have found a match is not noted: a complete window is looked at once more.
"""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.slicing.slicing import EVERY_WINDOW, Slicing
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.window.aligned import AlignedJoin
from fanlight.operators.join.window.eager_pairs import EagerPairs, EagerStep
from fanlight.operators.join.window.sliced import start_after, windows_between
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class WindowJoinEager(AlignedJoin, EagerPairs):
    """Rows are kept until their windows are complete."""

    def __init__(self, plan: JoinPlan, slicing: Slicing, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, slicing, store, books)
        self._came = (self._nothing(left=False), self._nothing(left=True))

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = (rights, lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The new pairs by window and left row, then rows alone of the windows that are complete now."""
        before, _ = self._complete(progress)
        (rights, lefts), self._came = self._came, (self._nothing(left=False), self._nothing(left=True))
        since = start_after(self._slicing, before)
        step = EagerStep(
            [*self._left.since(since)],
            [*self._right.since(since)],
            lefts,
            rights,
            windows_between(self._slicing, lefts.times, before, EVERY_WINDOW),
            windows_between(self._slicing, rights.times, before, EVERY_WINDOW),
            self._slicing,
        )
        rows = self._rows_of_step(step)
        self._right.append(rights)
        self._left.append(lefts)
        return [*rows, *self._closed(progress, with_pairs=False)] if self._waits_for_the_end else rows
