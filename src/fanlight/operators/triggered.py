"""Panes that can fire more than once: each keeps its content and the state of its trigger."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools, Ints, runs
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.letters import Reason
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.deltas import Deltas, deltas, folded_deltas
from fanlight.operators.examiner import Examiner, Phase, Timers
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded, FoldedSlices, wants_times
from fanlight.operators.frame import Frame, find
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.rows import in_order
from fanlight.operators.taken import Taken, buried
from fanlight.operators.trigger import NOT_DUE, News
from fanlight.state.store import Address, ChunkStore

_SPACE = "panes"


class TriggeredPanes:
    """Takes records into panes, asks their triggers, and lets firings leave."""

    def __init__(
        self, plan: Plan, store: ChunkStore, messages: Messages | None, letters: DeadLetters, accounting: Accounting
    ) -> None:
        self._plan = plan
        self._store = store
        self._messages = messages
        self._letters = letters
        self._accounting = accounting
        self._examiner = Examiner(plan, messages)
        self._shape = self._examiner.shape
        self._wants_times = wants_times(plan.spec)
        self._frame: Frame | None = None  # the panes that the step's records have touched
        self._touched: Bools = np.zeros(0, np.bool_)
        windows = [address.slice for address in store.list(_SPACE)]
        self._timers: dict[int, Timers] = dict.fromkeys(windows, (NOT_DUE, NOT_DUE))  # each live window's next timers
        if plan.spec.has_timers:
            self._schedule(self._load(windows))

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Add the records to their panes. Records whose panes have all finished become dead letters."""
        brought = None if taken is None else deltas(self._plan, taken, timed=self._wants_times)
        if folded is not None:
            assert isinstance(folded, FoldedSlices)
            more = folded_deltas(self._plan, folded, moment.expired_before)
            brought = more if brought is None else brought.join(more, self._plan)
        assert brought is not None  # a step without records takes nothing in
        frame = self._load(sorted(set(np.unique(brought.windows).tolist()) & self._timers.keys()))
        rows = find(frame, brought.windows, brought.keys)
        if len(frame):
            finished = (rows >= 0) & frame.state["finished"][rows]
            if finished.any():
                assert taken is not None  # what can finish is never folded before it comes
                self._accounting.missed_windows += int(brought.partials.rows[finished].sum())
                taken = buried(taken, brought.only_in(finished), Reason.FINISHED, self._letters, self._accounting)
                brought, rows = brought.where(~finished), rows[~finished]
        self._add(frame, rows, brought, moment)
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """Ask the triggers of the panes that something happened to; what leaves, in order."""
        frame, touched = self._gather(moment)
        if not len(frame):
            return None
        phase = Phase.of(frame, moment)
        firings = self._examiner.examine(frame, touched, phase, moment)
        kept = self._plan.spec.retention is not None
        self._save(frame if kept else frame.where(~phase.expired))
        return firings

    def retire(self, through: int) -> None:
        """Delete the panes of the windows up to `through`."""
        for window in [window for window in self._timers if window <= through]:
            del self._timers[window]
            self._store.delete(Address(_SPACE, window, 0))

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step."""
        return self.content(moment.expired_before + 1, moment.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold now."""
        windows = sorted(window for window in self._timers if first <= window <= last)
        if not windows:
            return Content.empty(self._plan)
        frame = self._load(windows)
        frame = frame.where(frame.partials.rows > 0)
        frame = frame.take(in_order(*frame.bounds(self._plan), frame.keys))
        return Content(frame.windows, frame.keys, frame.partials.rows, self._examiner.values(frame).columns)

    def _add(self, frame: Frame, rows: Ints, brought: Deltas, moment: Moment) -> None:
        """Join what came to the panes in `frame`; rows of -1 are new panes."""
        new = rows < 0
        if new.any():
            keys = [column.filter(pa.array(new)) for column in brought.keys]
            fresh = self._shape.fresh(brought.windows[new], keys)
            rows = np.where(new, len(frame) + np.cumsum(new) - 1, rows)
            frame = self._shape.join([frame, fresh]) if len(frame) else fresh
        fold = self._plan.fold
        frame.partials = frame.partials.put(rows, fold.combine(frame.partials.take(rows), brought.partials))
        counts = np.zeros(len(frame), np.int64)
        counts[rows] = brought.partials.rows
        least = np.zeros(len(frame), np.int64)
        least[rows] = brought.least
        frame.state["pending"] += counts
        self._touched = counts > 0
        self._examiner.trigger.told(frame.state, self._touched, News(counts, moment.clock, least))
        self._frame = frame

    def _gather(self, moment: Moment) -> tuple[Frame, Bools]:
        """The panes of the windows that something happened to, and which of them got records."""
        here: set[int] = set() if self._frame is None else set(np.unique(self._frame.windows).tolist())
        due = [
            window
            for window, timers in self._timers.items()
            if window not in here
            and (
                moment.closed_before < window <= moment.closed
                or window <= moment.expired
                or self._examiner.is_due(timers, moment)
                or self._examiner.signalled(moment)
            )
        ]
        others = self._load(sorted(due))
        if self._frame is None:
            return others, np.zeros(len(others), np.bool_)
        frame = self._shape.join([self._frame, others]) if len(others) else self._frame
        touched = np.concatenate([self._touched, np.zeros(len(others), np.bool_)])
        self._frame = None
        return frame, touched

    def _load(self, windows: list[int]) -> Frame:
        return self._shape.from_batches(windows, [self._store.get(Address(_SPACE, w, 0)) for w in windows])

    def _save(self, frame: Frame) -> None:
        """Write each window's panes as one chunk."""
        if not len(frame):
            return
        order = np.argsort(frame.windows, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            frame = frame.take(order)
        chunk = self._shape.to_batch(frame)
        bounds = runs(frame.windows)
        windows: list[int] = frame.windows[bounds[:-1]].tolist()
        for window, start, end in zip(windows, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._store.put(Address(_SPACE, window, 0), chunk.slice(start, end - start))
        self._schedule(frame)

    def _schedule(self, frame: Frame) -> None:
        """Note when the next timer of each window is due."""
        if not len(frame):
            return
        starts = runs(frame.windows)[:-1]
        windows: list[int] = frame.windows[starts].tolist()
        self._timers.update(zip(windows, self._examiner.timers(frame, starts), strict=True))
