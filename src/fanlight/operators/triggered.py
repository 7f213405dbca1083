"""Panes that can fire more than once: each keeps its content and the state of its trigger."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.differences import changed
from fanlight.kernels.groups import Bools, Ints, runs
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.letters import Reason
from fanlight.model.triggers import OnSignal
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.deltas import Deltas, deltas, folded_deltas
from fanlight.operators.emission import Emission, decide
from fanlight.operators.firing import Firings
from fanlight.operators.folding import Folded, wants_times
from fanlight.operators.frame import Frame, FrameShape, find
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.rows import firing_rows, in_order
from fanlight.operators.taken import Taken
from fanlight.operators.trigger import NOT_DUE, News, Now, build, is_due
from fanlight.operators.values import pane_values, retractions
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
        self._trigger = build(plan.spec.trigger, plan.spec.semantics)
        self._heeds_signal = any(isinstance(part, OnSignal) for part in plan.spec.trigger.walk())
        self._wants_times = wants_times(plan.spec)
        self._discards = plan.spec.accumulation is Accumulation.DISCARDING
        shows = plan.spec.updated_only or plan.spec.accumulation is Accumulation.RETRACTING
        self._shape = FrameShape(plan, self._trigger.columns, shows=shows)
        self._frame: Frame | None = None  # the panes that the step's records have touched
        self._touched: Bools = np.zeros(0, np.bool_)
        self._timers: dict[int, tuple[int, int]] = {}  # each live window's next timers: by clock, by watermark
        for address in store.list(_SPACE):
            self._schedule(self._load([address.slice]))

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Add the records to their panes. Records whose panes have all finished become dead letters."""
        brought = None if taken is None else deltas(self._plan, taken, timed=self._wants_times)
        if folded is not None:
            more = folded_deltas(self._plan, folded, moment.expired_before)
            brought = more if brought is None else brought.join(more, self._plan)
        assert brought is not None  # a step without records takes nothing in
        frame = self._load(sorted(set(np.unique(brought.windows).tolist()) & self._timers.keys()))
        rows = find(frame, brought.windows, brought.keys)
        if len(frame):
            finished = (rows >= 0) & frame.state["finished"][rows]
            if finished.any():
                assert taken is not None  # what can finish is never folded before it comes
                taken = self._bury(taken, brought.only_in(finished))
                brought, rows = brought.where(~finished), rows[~finished]
        self._add(frame, rows, brought, moment)
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """Ask the triggers of the panes that something happened to; what leaves, in order."""
        frame, touched = self._gather(moment)
        if not len(frame):
            return None
        closed, expired = frame.windows <= moment.closed, frame.windows <= moment.expired
        now = Now(closed, expired, moment.watermark, moment.clock, moment.signal)
        closing = closed & (frame.windows > moment.closed_before)
        by_clock, by_watermark = self._trigger.due(frame.state)
        timed = is_due(by_clock, moment.clock) | is_due(by_watermark, moment.watermark)
        running = ~frame.state["finished"]
        asked = running & (touched | closing | expired | timed | self._signalled(moment))
        ready = asked & self._trigger.ready(frame.state, now)
        self._trigger.fired(frame.state, ready, now)
        frame.state["finished"] |= ready & self._trigger.done(frame.state)
        emission = decide(self._plan.spec, frame, ready, running & expired, now, closing)
        firings = self._leave(frame, emission)
        self._settle(frame, emission, closing, moment)
        kept = self._plan.spec.retention is not None
        self._save(frame if kept else frame.where(~expired))
        return firings

    def retire(self, through: int) -> None:
        """Delete the panes of the windows up to `through`."""
        for window in [window for window in self._timers if window <= through]:
            del self._timers[window]
            self._store.delete(Address(_SPACE, window, 0))

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold now."""
        windows = sorted(window for window in self._timers if first <= window <= last)
        if not windows:
            return Content.empty(self._plan)
        frame = self._load(windows)
        frame = frame.where(frame.partials.rows > 0)
        frame = frame.take(in_order(frame.windows, frame.keys))
        return Content(frame.windows, frame.keys, frame.partials.rows, self._values(frame))

    def _bury(self, taken: Taken, dead: Bools) -> Taken:
        bundle = taken.bundle
        self._accounting.dead_letters += self._letters.bury(bundle.batch, dead, Reason.FINISHED, bundle.watermarks)
        return taken.where(~dead)

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
        self._trigger.told(frame.state, self._touched, News(counts, moment.clock, least))
        self._frame = frame

    def _gather(self, moment: Moment) -> tuple[Frame, Bools]:
        """The panes of the windows that something happened to, and which of them got records."""
        here: set[int] = set() if self._frame is None else set(np.unique(self._frame.windows).tolist())
        due = [
            window
            for window, (by_clock, by_watermark) in self._timers.items()
            if window not in here
            and (
                moment.closed_before < window <= moment.closed
                or window <= moment.expired
                or is_due(by_clock, moment.clock)
                or is_due(by_watermark, moment.watermark)
                or self._signalled(moment)
            )
        ]
        others = self._load(sorted(due))
        if self._frame is None:
            return others, np.zeros(len(others), np.bool_)
        frame = self._shape.join([self._frame, others]) if len(others) else self._frame
        touched = np.concatenate([self._touched, np.zeros(len(others), np.bool_)])
        self._frame = None
        return frame, touched

    def _signalled(self, moment: Moment) -> bool:
        """Whether the caller's signal makes this step look at every pane."""
        return self._heeds_signal and moment.signal.said

    def _leave(self, frame: Frame, emission: Emission) -> Firings | None:
        """The rows of the firings that leave; remembers what they show."""
        spec = self._plan.spec
        leaving = frame.where(emission.leaves)
        if not len(leaving):
            return None
        values = self._values(leaving)
        if spec.updated_only:
            differs = changed(leaving.shown, values) | (leaving.state["index"] == 0)
            emission.leaves[np.flatnonzero(emission.leaves)[~differs]] = False
            leaving, values = leaving.where(differs), [column.filter(pa.array(differs)) for column in values]
        rows = np.flatnonzero(emission.leaves)
        ends = self._plan.slicing.bounds(leaving.windows)[1]
        times = self._plan.fold.stamps(leaving.partials, ends, spec.tick.micros)
        before = retractions(self._plan, leaving.shown, leaving.state["index"] > 0) if leaving.shown else []
        firings = firing_rows(
            leaving, before, values, times, emission.timing[rows], emission.is_last[rows], spec.accumulation
        )
        frame.show(rows, values)
        return firings if len(rows) else None

    def _settle(self, frame: Frame, emission: Emission, closing: Bools, moment: Moment) -> None:
        """What firing leaves behind in the panes."""
        state, fold = frame.state, self._plan.fold
        fires, leaves = emission.fires, emission.leaves
        state["index"] += leaves
        state["revision"] += leaves & (emission.timing != Timing.EARLY)
        state["pending"][fires] = 0
        state["mark"][fires] = moment.arrived
        state["held"] = ~fires & (state["pending"] > 0) & (state["held"] | closing)
        retained = self._plan.spec.retention is not None  # what has finished stays readable then
        emptied = np.zeros_like(fires) if retained else state["finished"].copy()
        if self._discards:
            emptied |= fires
        if emptied.any():
            places = np.flatnonzero(emptied)
            frame.partials = frame.partials.put(places, fold.identity(len(places)))
        if self._plan.spec.semantics.holds:
            frame.partials = fold.unstamp(frame.partials, fires)

    def _values(self, frame: Frame) -> list[pa.Array]:
        """The values of the panes' content, one column an aggregate."""
        after = frame.state["mark"] if self._discards else None
        return pane_values(self._plan, self._messages, frame.windows, frame.keys, frame.partials, after)

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
        stopped = frame.state["finished"]
        by_clock, by_watermark = (np.where(stopped, NOT_DUE, due) for due in self._trigger.due(frame.state))
        clocks = np.minimum.reduceat(by_clock, starts)
        watermarks = np.minimum.reduceat(by_watermark, starts)
        self._timers.update(zip(windows, zip(clocks.tolist(), watermarks.tolist(), strict=True), strict=True))
