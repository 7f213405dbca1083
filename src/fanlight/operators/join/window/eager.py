"""An eager join by window: a pair leaves as soon as both rows are here, a row alone when its window is complete.

right rows of the step  ×  left rows kept
left rows of the step   ×  right rows kept, and those of the step        each pair once a window

Which rows have found a match is not noted: a complete window is looked at once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.pair_order import pair_order
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, Slicing
from fanlight.model.join.sides import JoinType
from fanlight.operators.accounting import Books
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.window.aligned import AlignedJoin
from fanlight.operators.join.window.partners import marked
from fanlight.operators.join.window.sliced import start_after, windows_between
from fanlight.operators.join.window.windowed_rows import RowWindows, WindowPairs
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class _Step:
    """What is kept of both sides, and what a step brings, with the windows that were not complete before it."""

    kept_lefts: list[SideRows]
    kept_rights: list[SideRows]
    lefts: SideRows
    rights: SideRows
    of_left: RowWindows
    of_right: RowWindows


class WindowJoinEager(AlignedJoin):
    """Rows are kept until their windows are complete."""

    def __init__(self, plan: JoinPlan, slicing: Slicing, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, slicing, store, books)
        self._came = (self._nothing(left=False), self._nothing(left=True))

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = (rights, lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The new pairs by window and left row, then rows alone of the windows that are complete now."""
        how, (before, _) = self._plan.spec.how, self._complete(progress)
        (rights, lefts), self._came = self._came, (self._nothing(left=False), self._nothing(left=True))
        step = _Step(
            [*self._left.since(start_after(self._slicing, before))],
            [*self._right.since(start_after(self._slicing, before))],
            lefts,
            rights,
            *(windows_between(self._slicing, rows.times, before, EVERY_WINDOW) for rows in (lefts, rights)),
        )
        rows: list[pa.RecordBatch] = []
        if how is JoinType.SEMI:
            rows += self._in_left_order(self._first_matches(step))
        elif how is not JoinType.ANTI:
            rows += self._in_pair_order(self._new_pairs(step))
        self._right.append(rights)
        self._left.append(lefts)
        if how.pads_left or how.pads_right or how is JoinType.ANTI:
            rows += self._closed(progress, with_pairs=False)
        return rows

    def _new_pairs(self, step: _Step) -> Iterator[WindowPairs]:
        """The pairs of this step, in the windows that were not complete before it."""
        for kept in step.kept_lefts if len(step.rights) else []:
            yield self._pairs_of_right(step.rights, step.of_right, kept, self._slicing)[0]
        for kept in [*step.kept_rights, step.rights] if len(step.lefts) else []:
            yield self._pairs(step.lefts, step.of_left, kept, self._slicing)[0]

    def _first_matches(self, step: _Step) -> Iterator[tuple[SideRows, RowWindows]]:
        """The left rows that have found their first match in a window now, with these windows."""
        for kept in step.kept_lefts if len(step.rights) else []:
            pairs, _ = self._pairs_of_right(step.rights, step.of_right, kept, self._slicing)
            found = RowWindows.once(pairs.pairs.left, pairs.windows)
            yield kept, found.where(~self._has_match(kept, found, step.kept_rights))
        fine = self._has_match(step.lefts, step.of_left, [*step.kept_rights, step.rights])
        yield step.lefts, step.of_left.where(fine)

    def _has_match(self, lefts: SideRows, windows: RowWindows, chunks: list[SideRows]) -> Bools:
        """Which of these rows have a match in their window among the right rows of these chunks."""
        marks = np.zeros(len(windows), np.bool_)
        for rights in chunks if len(windows) else []:
            marks |= marked(len(windows), self._pairs(lefts, windows, rights, self._slicing)[1])
        return marks

    def _in_pair_order(self, found: Iterator[WindowPairs]) -> list[pa.RecordBatch]:
        """Pairs as rows: by window, then by the left row, then by the right one."""
        parts = [pairs for pairs in found if len(pairs)]
        if not parts:
            return []
        numbers = np.concatenate([_numbers(part.pairs) for part in parts], axis=1)
        windows = np.concatenate([part.windows for part in parts])
        order = pair_order(*numbers)
        order = order[np.argsort(windows[order], kind="stable")]
        rows = pa.concat_batches([self._plan.rows(part.pairs) for part in parts])
        return [self._with_windows(rows.take(pa.array(order)), windows[order], self._slicing)]

    def _in_left_order(self, found: Iterator[tuple[SideRows, RowWindows]]) -> list[pa.RecordBatch]:
        """Left rows in their windows, by window, then by time, then as they came."""
        parts = [(rows.take(of.rows), of.windows) for rows, of in found if len(of)]
        if not parts:
            return []
        rows, windows = SideRows.concat([rows for rows, _ in parts]), np.concatenate([of for _, of in parts])
        order = np.lexsort([rows.came, rows.times, windows])
        return [self._with_windows(self._plan.rows(self._alone(rows.take(order))), windows[order], self._slicing)]


def _numbers(pairs: RowPairs) -> Ints:
    """What orders pairs: time and arrival number of the left row, then of the right one."""
    lefts, rights = pairs.lefts, pairs.rights
    left = lefts.times[pairs.left], lefts.came[pairs.left]
    return np.stack([*left, rights.times[pairs.right], rights.came[pairs.right]])
