"""The pairs of a join by window: rows of one side, searched for in the windows of rows of the other.

    left row in window [0, 10)   ──►  right rows of its key from 0 to 9: a range, found by two searches

Ranges are spread to pairs at once; a row without a range stands alone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.probe import matches
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.join.sides import JoinType
from fanlight.operators.join.plan import RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import JoinOperator
from fanlight.operators.join.window.windowed_rows import Bounds, RowWindows, WindowPairs, ranks, window_column


class WindowJoin(JoinOperator):
    """A join whose rows match by key and window; subclasses say when pairs are looked for, and in which windows."""

    def _pairs(
        self, lefts: SideRows, windows: RowWindows, rights: SideRows, bounds: Bounds
    ) -> tuple[WindowPairs, Ints]:
        """The pairs of left rows with right rows in these windows, and of which window each is, by its place.

        Rows of both sides are by key and time.
        """
        at, right = _in_reach(lefts, windows, rights, bounds)
        return self._met_in(RowPairs(lefts, rights, windows.rows[at], right), windows, at)

    def _pairs_of_right(
        self, rights: SideRows, windows: RowWindows, lefts: SideRows, bounds: Bounds
    ) -> tuple[WindowPairs, Ints]:
        """The pairs of right rows with left rows in these windows, alike."""
        at, left = _in_reach(rights, windows, lefts, bounds)
        return self._met_in(RowPairs(lefts, rights, left, windows.rows[at]), windows, at)

    def _met_in(self, pairs: RowPairs, windows: RowWindows, at: Ints) -> tuple[WindowPairs, Ints]:
        """The pairs that meet the condition."""
        fine = self._plan.meets(pairs)
        if not fine.all():
            pairs, at = pairs.take(np.flatnonzero(fine)), at[fine]
        return WindowPairs(pairs, windows.windows[at]), at

    def _complete_rows(
        self,
        sides: tuple[SideRows, SideRows],
        windows: tuple[RowWindows, RowWindows],
        bounds: Bounds,
        *,
        with_pairs: bool = True,
    ) -> list[pa.RecordBatch]:
        """The rows of complete windows: of each window by the left row, then by the right one, then right rows alone.

        Without pairs, only rows alone; those of a semi join are pairs.
        """
        how, (lefts, rights), (of_left, of_right) = self._plan.spec.how, sides, windows
        pairs, at = self._pairs(lefts, of_left, rights, bounds)
        parts = [pairs] if with_pairs and not how.of_left_only else []
        if how.pads_left or how.of_left_only:
            has_match = marked(len(of_left), at)
            if with_pairs or how is not JoinType.SEMI:
                alone = of_left.where(has_match if how is JoinType.SEMI else ~has_match)
                parts.append(self._left_alone(lefts, rights, alone))
        if how.pads_right:
            alone = of_right.where(~marked(len(of_right), of_right.places(pairs.pairs.right, pairs.windows)))
            nobody = np.full(len(alone), -1)
            parts.append(WindowPairs(RowPairs(lefts, rights, nobody, alone.rows), alone.windows))
        whole = _together(lefts, rights, parts)
        if not len(whole):
            return []
        places = ranks(lefts)[whole.pairs.left] if len(lefts) else np.zeros(len(whole), np.int64)
        if how.pads_right and len(rights):
            places = np.where(whole.pairs.left < 0, len(lefts) + ranks(rights)[whole.pairs.right], places)
        return self._rows_in(whole.take(sort_by_key_time(whole.windows, places).order), bounds)

    @staticmethod
    def _left_alone(lefts: SideRows, rights: SideRows, alone: RowWindows) -> WindowPairs:
        return WindowPairs(RowPairs(lefts, rights, alone.rows, np.full(len(alone), -1)), alone.windows)

    def _rows_in(self, found: WindowPairs, bounds: Bounds) -> list[pa.RecordBatch]:
        """Joined rows with their windows, as they stand."""
        if not len(found):
            return []
        return [self._with_windows(self._plan.rows(found.pairs), found.windows, bounds)]

    @staticmethod
    def _with_windows(rows: pa.RecordBatch, windows: Ints, bounds: Bounds) -> pa.RecordBatch:
        named = ["window", *rows.schema.names]
        return pa.RecordBatch.from_arrays([window_column(bounds, windows), *rows.columns], names=named)


def _in_reach(these: SideRows, windows: RowWindows, those: SideRows, bounds: Bounds) -> tuple[Ints, Ints]:
    """All pairs of a row in a window, by its place in `windows`, and a row of those in the same window."""
    starts, ends = bounds.bounds(windows.windows)
    return matches(those.codes, those.times, these.codes[windows.rows], starts, ends - 1)


def marked(count: int, places: Ints) -> Bools:
    """So many marks, set at these places."""
    marks = np.zeros(count, np.bool_)
    marks[places] = True
    return marks


def _together(lefts: SideRows, rights: SideRows, parts: list[WindowPairs]) -> WindowPairs:
    """Several parts of the same rows, one after the other."""
    if len(parts) == 1:
        return parts[0]
    left, right, windows = (
        np.concatenate([np.zeros(0, np.int64), *columns])
        for columns in (
            [part.pairs.left for part in parts],
            [part.pairs.right for part in parts],
            [part.windows for part in parts],
        )
    )
    return WindowPairs(RowPairs(lefts, rights, left, right), windows)
