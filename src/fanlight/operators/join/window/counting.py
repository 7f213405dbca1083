"""A join by windows that count: each side counts its own records of a key, and windows of one number meet.

    left       1 2 3 | 4 5 6 | 7          windows of three records
    right      1 2 3 | 4                  the first is full on both sides, and leaves; the second waits

A window also leaves when both watermarks have passed its latest row by the retention. A row whose key has a null
equals no other: it is alone in a window of its own, and leaves at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.join.window import WINDOW, WindowJoinSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.windows.counting import Counting
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.join.changed_log import SideChanges
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.operators.join.sides import moved
from fanlight.operators.join.window.counted_keys import CountedKeys, KeptCounts
from fanlight.operators.join.window.partners import WindowJoin
from fanlight.operators.join.window.windowed_rows import Bounds, RowWindows, in_order
from fanlight.operators.operator import Progress
from fanlight.state.store import ChunkStore

_AT = pa.field("at", pa.int64())
"""The time of a row, after its columns: in its log a row goes by its position."""
_BOUNDS = [pa.field("start", pa.int64()), pa.field("end", pa.int64())]
COUNTED_FIELD = pa.field(WINDOW, pa.struct(_BOUNDS))
"""The column of a joined row that says its window: from the first position, up to, not including, the last."""


class CountedBounds:
    """Windows of so many positions, one after the other from 1; the first has the number 0."""

    def __init__(self, size: int) -> None:
        self._size = size

    def of(self, positions: Ints) -> Ints:
        """The windows of these positions."""
        return (positions - 1) // self._size

    def whole(self, counts: Ints) -> Ints:
        """How many windows so many records fill."""
        return counts // self._size

    def begun(self, counts: Ints) -> Ints:
        """How many windows have one of so many records."""
        return -(-counts // self._size)

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        """The first position of windows, and the first after them."""
        return windows * self._size + 1, (windows + 1) * self._size + 1


class CountJoin(WindowJoin):
    """Rows wait until the window they are in is complete. Codes are numbers of keys here, and times are positions."""

    unfound: ClassVar[Reason] = Reason.EXPIRED

    def __init__(self, plan: JoinPlan, kind: Counting, store: ChunkStore, books: Books) -> None:
        super().__init__(plan, store, books)
        assert isinstance(plan.spec, WindowJoinSpec)
        assert plan.spec.retention is not None  # the spec has refused the others
        self._waits = plan.spec.retention.time
        self._left = SideLog(store, "left", plan.left.append(_AT))
        self._right = SideLog(store, "right", plan.right.append(_AT))
        self._counts = KeptCounts(store, [plan.schema.field(name) for name in plan.spec.keys])
        self._windows = CountedBounds(kind.size)
        self._keyless: dict[bool, SideRows] = {}
        """The rows of this step that have a null among their keys, by side."""

    def _faults(self, times: Ints, judged: Ints) -> dict[Reason, Bools]:
        """No record is late by its time; but a side that has ended brings none."""
        return {Reason.EXPIRED: (judged == END_OF_TIME) & (times < judged)}

    def _changes(self, own: Bundle, came: Ints, *, left: bool) -> SideChanges:
        """Count the records of a side; those in a window that has left find no place."""
        rows = self._side(own, came, left=left)
        keyed = self._plan.has_keys(rows, left=left)
        self._keyless[left] = rows.where(~keyed)
        rows = rows.where(keyed)
        known, numbers = self._counts.read().numbered(self._plan.keys_of(rows, left=left), len(rows))
        known, positions = known.counting(numbers, left=left)
        if len(rows):
            self._counts.write(known)
        fine = self._windows.of(positions) >= known.gone[numbers]
        fresh = SideRows(positions, rows.came, numbers, [*rows.columns, pa.array(rows.times)]).where(fine).by_key()
        if fine.all():
            return SideChanges(fresh, self._nothing(left=left), None)
        finds = np.ones(len(own), np.bool_)
        finds[keyed] = fine
        return SideChanges(fresh, self._nothing(left=left), finds)

    def _take(self, rights: SideRows, lefts: SideRows, progress: Progress) -> None:
        self._right.append(rights)
        self._left.append(lefts)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The rows of the windows that are complete now."""
        alone, self._keyless = self._keyless, {}
        sides = self._plan.spec.left, self._plan.spec.right
        if not alone and all(self._before(side, progress) == self._after(side, progress) for side in sides):
            return []
        known = self._counts.read()
        live = [self._live(log, known) for log in (self._left, self._right)]
        at_once = self._at_once(live)
        done = self._done(known, live, progress)
        over = [rows.where(self._windows.of(rows.times) < done[rows.codes]) for rows in live]
        if (done > known.gone).any():
            known = replace(known, gone=done)
            self._counts.write(known)
            for log in (self._left, self._right):
                log.keep(lambda rows: self._stays(rows, known))
        lefts, rights = (
            in_order(SideRows.concat([shown(rows), *self._strangers(alone, left=left)]))
            for rows, left in zip(over, (True, False), strict=True)
        )
        windows = [RowWindows(np.arange(len(rows)), self._windows.of(rows.times)) for rows in (lefts, rights)]
        return [*at_once, *self._closing((lefts, rights), (windows[0], windows[1]))]

    def _at_once(self, live: list[SideRows]) -> list[pa.RecordBatch]:
        """What leaves before windows are complete, of the rows whose windows have not left."""
        return []

    def _closing(self, rows: tuple[SideRows, SideRows], windows: tuple[RowWindows, RowWindows]) -> list[pa.RecordBatch]:
        """What leaves of windows that are complete."""
        return self._complete_rows(rows, windows, self._windows)

    def retire(self, progress: Progress) -> None:
        """When both sides have ended, delete the counts."""
        if all(self._after(side, progress) == END_OF_TIME for side in (self._plan.spec.left, self._plan.spec.right)):
            self._counts.forget()

    def _live(self, log: SideLog, known: CountedKeys) -> SideRows:
        """The rows whose windows have not left."""
        chunks = [rows.where(self._stays(rows, known)) for rows in log.since(START_OF_TIME)]
        return SideRows.concat(chunks) if chunks else log.nothing()

    def _stays(self, rows: SideRows, known: CountedKeys) -> Bools:
        stays: Bools = self._windows.of(rows.times) >= known.gone[rows.codes]
        return stays

    def _done(self, known: CountedKeys, live: list[SideRows], progress: Progress) -> Ints:
        """How many windows of each key are complete: those that both sides have filled, or that wait no longer."""
        after = [self._after(side, progress) for side in (self._plan.spec.left, self._plan.spec.right)]
        begun = self._windows.begun(np.maximum(known.left, known.right))
        filled = [
            begun if reached == END_OF_TIME else self._windows.whole(counts)
            for reached, counts in zip(after, (known.left, known.right), strict=True)
        ]
        done = np.maximum(known.gone, np.minimum(*filled))
        horizon = START_OF_TIME if self._waits.is_forever else moved(min(after), -self._waits.micros)
        if horizon == START_OF_TIME:
            return done
        waits = begun.copy()
        for rows in live:  # the first window of each key that both have not filled, with a row that is not passed
            windows = self._windows.of(rows.times)
            fresh = (windows >= done[rows.codes]) & (rows.columns[-1].to_numpy() >= horizon)
            np.minimum.at(waits, rows.codes[fresh], windows[fresh])
        return np.maximum(done, waits)

    def _strangers(self, alone: dict[bool, SideRows], *, left: bool) -> list[SideRows]:
        """The rows of this step that equal no other, each the first of a key that no row of either side has."""
        if left not in alone:
            return []
        rows = alone[left]
        return [replace(rows, times=np.ones(len(rows), np.int64), codes=-1 - 2 * np.arange(len(rows)) - int(left))]

    @staticmethod
    def _with_windows(rows: pa.RecordBatch, windows: Ints, bounds: Bounds) -> pa.RecordBatch:
        column = pa.StructArray.from_arrays([pa.array(one) for one in bounds.bounds(windows)], fields=_BOUNDS)
        return pa.RecordBatch.from_arrays([column, *rows.columns], names=[WINDOW, *rows.schema.names])


def shown(rows: SideRows) -> SideRows:
    """Rows without what is said beside them."""
    return replace(rows, columns=rows.columns[:-1])
