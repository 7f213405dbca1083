"""An eager join by windows that count: a pair leaves as soon as both rows are here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.windows.counting import Counting
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.window.counting import CountJoin, shown
from fanlight.operators.join.window.eager_pairs import EagerPairs, EagerStep
from fanlight.operators.join.window.windowed_rows import RowWindows, in_order
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


class CountJoinEager(CountJoin, EagerPairs):
    """Rows are kept until their windows are complete; those alone leave then."""

    def __init__(self, plan: JoinPlan, kind: Counting, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, kind, store, books)
        self._first: int | None = None
        """The arrival number of the first row of this step; None if none came."""

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        super()._take(rights, lefts, progress)
        came = np.concatenate([rights.came, lefts.came])
        self._first = int(came.min()) if len(came) else None

    def _at_once(self, live: list[SideRows]) -> list[pa.RecordBatch]:
        """The pairs that have a row of this step."""
        first, self._first = self._first, None
        if first is None:
            return []
        lefts, rights = (in_order(shown(rows)) for rows in live)
        fresh_lefts, fresh_rights = lefts.where(lefts.came >= first), rights.where(rights.came >= first)
        kept = lefts.where(lefts.came < first), rights.where(rights.came < first)
        windows = [
            RowWindows(np.arange(len(rows)), self._windows.of(rows.times)) for rows in (fresh_lefts, fresh_rights)
        ]
        step = EagerStep([kept[0]], [kept[1]], fresh_lefts, fresh_rights, windows[0], windows[1], self._windows)
        return self._rows_of_step(step)

    def _closing(self, rows: tuple[SideRows, SideRows], windows: tuple[RowWindows, RowWindows]) -> list[pa.RecordBatch]:
        """The rows without a match."""
        return self._complete_rows(rows, windows, self._windows, with_pairs=False) if self._waits_for_the_end else []
