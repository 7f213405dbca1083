"""A join by frames: a record that comes is joined with what the window of the other side holds.

right rows of the step  ×  the left window, as it was before the step
left rows of the step   ×  the right window, with the right rows of the step        each pair once
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.join.probe import matches
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Access
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, Timestamp
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.columns import plain
from fanlight.operators.join.frames.held import HeldPairs
from fanlight.operators.join.frames.log import FrameLog, KeyedLog, ScannedLog
from fanlight.operators.join.frames.made_of_pairs import made_of_pairs
from fanlight.operators.join.frames.membership import Membership
from fanlight.operators.join.frames.standing import SideStanding, forget_standing, read_standing, write_standing
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.join.sides import JoinOperator, moved
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore


@dataclass(slots=True)
class _Window:
    """The window of one side."""

    side: Side
    own: pa.Schema
    log: FrameLog
    standing: SideStanding


class FramesJoin(JoinOperator):
    """Rows of both sides are kept as long as their windows may hold them."""

    def __init__(self, plan: JoinPlan, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        spec = plan.spec
        assert isinstance(spec, FramesJoinSpec)
        self._spec, self._store = spec, store
        self._came = (self._nothing(left=False), self._nothing(left=True))
        left, right = read_standing(store)
        self._kept_left = self._window(spec.left, plan.left, "left", left)
        self._kept_right = self._window(spec.right, plan.right, "right", right)
        self._early, self._late = (
            None if trigger is None else HeldPairs(store, space, plan.result, trigger)
            for space, trigger in (("early", spec.early), ("late", spec.late))
        )

    def _window(self, side: Side, own: pa.Schema, space: str, standing: SideStanding) -> _Window:
        make = KeyedLog if self._spec.access(side.name) is Access.KEY else ScannedLog
        log = make(self._store, space, own, Membership.of(self._plan, self._spec, side))
        return _Window(side, own, log, standing)

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._came = (rights, lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The pairs whose time has come, then those of this step in the order of their left rows."""
        (rights, lefts), self._came = self._came, (self._nothing(left=False), self._nothing(left=True))
        left, right = self._kept_left, self._kept_right
        for window in (left, right):
            window.standing = window.standing.at(self._reached(window.side, progress, 0))
        held = [held.due(progress.clock, ends=progress.ends) for held in (self._early, self._late) if held is not None]
        rows = [batch for batches in held for batch in batches]
        pairs: list[tuple[RowPairs, Bools]] = []
        for rows_of, own, other in ((rights, right, left), (lefts, left, right)):
            if len(rows_of):
                numbered = self._numbered(own, rows_of)
                pairs += self._found(numbered, other, progress, left=own is left)
                self._add(own, numbered)
        rows += self._leaving(pairs, progress)
        return rows if self._spec.function is None else made_of_pairs(self._spec.function, self._plan.result, rows)

    def retire(self, progress: Progress) -> None:
        """Delete the rows that no window can hold any more."""
        before = self._kept_left.standing, self._kept_right.standing
        for window in (self._kept_left, self._kept_right):
            now = window.standing.at(self._reached(window.side, progress, 1))
            window.standing = window.log.retire(window.standing, now)
        left, right = self._kept_left.standing, self._kept_right.standing
        if left.reached >= END_OF_TIME and right.reached >= END_OF_TIME:
            forget_standing(self._store)
        elif (left, right) != read_standing(self._store) or (left, right) != before:
            write_standing(self._store, left, right)

    def kept(self, progress: Progress) -> dict[str, pa.Table]:
        """The rows that windows hold, by side, by time, then as they came."""
        del progress
        found = {}
        for window in (self._kept_left, self._kept_right):
            rows = self.rows_in_window(window.side.name)
            found[window.side.name] = pa.Table.from_arrays(rows.columns, schema=window.own)
        return found

    def rows_in_window(self, side: str, keys: list[pa.Array] | None = None) -> SideRows:
        """The rows that the windows of a side hold now, by time, then as they came: of all keys, or of these."""
        window = self._kept_left if side == self._spec.left.name else self._kept_right
        if keys is None:
            rows = window.log.every(window.standing)
        else:
            codes = np.sort(self._plan.codes(keys, len(keys[0])))
            rows = window.log.holding(codes, window.standing)
        return rows.take(np.lexsort([rows.came, rows.times]))

    @property
    def plan(self) -> JoinPlan:
        """The join as it is bound to the columns of its sides."""
        return self._plan

    @property
    def first_offsets(self) -> dict[str, int | None]:
        """The offset of the first row that came of each side."""
        windows = (self._kept_left, self._kept_right)
        return {window.side.name: window.standing.first_offset for window in windows}

    def _reached(self, side: Side, progress: Progress, place: int) -> Timestamp:
        """The watermark that the window of a side goes by, before the step (0) or after it (1).

        A side that has ended goes on with that of both together: its rows are still joined.
        """
        assert progress.inputs is not None
        own = progress.inputs[side.name][place]
        if own >= END_OF_TIME:
            own = (progress.before, progress.watermark)[place]
            own = END_OF_TIME if progress.ends and place else own
        return moved(own, -self._spec.lateness.micros)

    def _found(self, rows: SideRows, other: _Window, progress: Progress, *, left: bool) -> list[tuple[RowPairs, Bools]]:
        """The pairs of rows of one side with what the window of the other holds; and which come of a late row."""
        held = other.log.holding(rows.codes, other.standing)
        places, theirs = matches(held.codes, held.times, rows.codes, *self._bounds(rows, left=left))
        pairs = RowPairs(rows, held, places, theirs) if left else RowPairs(held, rows, theirs, places)
        side = self._spec.left if left else self._spec.right
        assert progress.inputs is not None
        is_late = rows.times < progress.inputs[side.name][0]
        return [(met, is_late[met.left if left else met.right]) for met in self._met(pairs)]

    def _bounds(self, rows: SideRows, *, left: bool) -> tuple[Ints, Ints]:
        """From when to when rows of the other side may be: as far as `within` says."""
        within = self._spec.match.within
        if within is None:
            return np.full(len(rows), EARLIEST), np.full(len(rows), LATEST)
        return (
            (rows.times + within.least, rows.times + within.most)
            if left
            else (rows.times - within.most, rows.times - within.least)
        )

    def _add(self, window: _Window, rows: SideRows) -> None:
        """Let the window of a side take the rows of a step in."""
        offset = self._offset(window, rows, int(rows.came.argmin()))
        window.standing = window.standing.with_rows(len(rows), int(rows.times.max()), offset)
        if not self._spec.is_of_stream:
            rows = rows.where(self._plan.has_keys(rows, left=window.side is self._spec.left))
        window.log.append(rows, window.standing)

    @staticmethod
    def _numbered(window: _Window, rows: SideRows) -> SideRows:
        """Rows with their places among all of their side, as they came."""
        numbers = np.empty(len(rows), np.int64)
        numbers[np.argsort(rows.came)] = window.standing.count + np.arange(len(rows))
        return SideRows(rows.times, numbers, rows.codes, rows.columns)

    def _offset(self, window: _Window, rows: SideRows, first: int) -> int | None:
        name = self._spec.offsets
        if name is None or name not in window.own.names:
            return None
        offset: int | None = pc.cast(plain(rows.columns[window.own.get_field_index(name)]), pa.int64())[first].as_py()
        return offset

    def _leaving(self, pairs: list[tuple[RowPairs, Bools]], progress: Progress) -> list[pa.RecordBatch]:
        """The pairs of this step that leave at once; those that wait for the clock are held back."""
        if progress.ends or (self._early is None and self._late is None):
            return self._joined_rows([part for part, _ in pairs])
        at_once: list[RowPairs] = []
        for held, late in ((self._early, False), (self._late, True)):
            own = [part.take(np.flatnonzero(is_late == late)) for part, is_late in pairs]
            own = [part for part in own if len(part)]
            if held is None:
                at_once += own
            else:
                held.hold(self._joined_rows(own), progress.clock)
        return self._joined_rows(at_once)
