"""What an eager join by window gives in a step: the pairs that have a row of it, or left rows with their first match.

right rows of the step  ×  left rows kept
left rows of the step   ×  right rows kept, and those of the step        each pair once a window
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.pair_order import pair_order
from fanlight.model.join.sides import JoinType
from fanlight.operators.join.plan import RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.window.partners import WindowJoin, marked
from fanlight.operators.join.window.windowed_rows import Bounds, RowWindows, WindowPairs


@dataclass(frozen=True, slots=True)
class EagerStep:
    """What is kept of both sides, and what a step brings, with the windows that were not complete before it."""

    kept_lefts: list[SideRows]
    kept_rights: list[SideRows]
    lefts: SideRows
    rights: SideRows
    of_left: RowWindows
    of_right: RowWindows
    bounds: Bounds


class EagerPairs(WindowJoin):
    """A join by window whose pairs leave as soon as both rows are here; subclasses say what a step is."""

    def _rows_of_step(self, step: EagerStep) -> list[pa.RecordBatch]:
        """The new pairs, by window and left row; of a semi join left rows with their first match."""
        how = self._plan.spec.how
        if how is JoinType.SEMI:
            return self._in_left_order(self._first_matches(step), step.bounds)
        return [] if how is JoinType.ANTI else self._in_pair_order(self._new_pairs(step), step.bounds)

    @property
    def _waits_for_the_end(self) -> bool:
        """Whether rows may leave alone, when their windows are complete."""
        how = self._plan.spec.how
        return how.pads_left or how.pads_right or how is JoinType.ANTI

    def _new_pairs(self, step: EagerStep) -> Iterator[WindowPairs]:
        """The pairs of this step, in the windows that were not complete before it."""
        for kept in step.kept_lefts if len(step.rights) else []:
            yield self._pairs_of_right(step.rights, step.of_right, kept, step.bounds)[0]
        for kept in [*step.kept_rights, step.rights] if len(step.lefts) else []:
            yield self._pairs(step.lefts, step.of_left, kept, step.bounds)[0]

    def _first_matches(self, step: EagerStep) -> Iterator[tuple[SideRows, RowWindows]]:
        """The left rows that have found their first match in a window now, with these windows."""
        for kept in step.kept_lefts if len(step.rights) else []:
            pairs, _ = self._pairs_of_right(step.rights, step.of_right, kept, step.bounds)
            found = RowWindows.once(pairs.pairs.left, pairs.windows)
            yield kept, found.where(~self._has_match(kept, found, step.kept_rights, step.bounds))
        fine = self._has_match(step.lefts, step.of_left, [*step.kept_rights, step.rights], step.bounds)
        yield step.lefts, step.of_left.where(fine)

    def _has_match(self, lefts: SideRows, windows: RowWindows, chunks: list[SideRows], bounds: Bounds) -> Bools:
        """Which of these rows have a match in their window among the right rows of these chunks."""
        marks = np.zeros(len(windows), np.bool_)
        for rights in chunks if len(windows) else []:
            marks |= marked(len(windows), self._pairs(lefts, windows, rights, bounds)[1])
        return marks

    def _in_pair_order(self, found: Iterator[WindowPairs], bounds: Bounds) -> list[pa.RecordBatch]:
        """Pairs as rows: by window, then by the left row, then by the right one."""
        parts = [pairs for pairs in found if len(pairs)]
        if not parts:
            return []
        numbers = np.concatenate([_numbers(part.pairs) for part in parts], axis=1)
        windows = np.concatenate([part.windows for part in parts])
        order = pair_order(*numbers)
        order = order[np.argsort(windows[order], kind="stable")]
        rows = pa.concat_batches([self._plan.rows(part.pairs) for part in parts])
        return [self._with_windows(rows.take(pa.array(order)), windows[order], bounds)]

    def _in_left_order(self, found: Iterator[tuple[SideRows, RowWindows]], bounds: Bounds) -> list[pa.RecordBatch]:
        """Left rows in their windows, by window, then by time, then as they came."""
        parts = [(rows.take(of.rows), of.windows) for rows, of in found if len(of)]
        if not parts:
            return []
        rows, windows = SideRows.concat([rows for rows, _ in parts]), np.concatenate([of for _, of in parts])
        order = np.lexsort([rows.came, rows.times, windows])
        return [self._with_windows(self._plan.rows(self._alone(rows.take(order))), windows[order], bounds)]


def _numbers(pairs: RowPairs) -> Ints:
    """What orders pairs: time and arrival number of the left row, then of the right one."""
    lefts, rights = pairs.lefts, pairs.rights
    left = lefts.times[pairs.left], lefts.came[pairs.left]
    return np.stack([*left, rights.times[pairs.right], rights.came[pairs.right]])
