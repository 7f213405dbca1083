"""Panes examined: their triggers asked, the firings that leave made into rows, and what firing leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.differences import changed
from fanlight.kernels.groups import Bools
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.triggers import OnSignal
from fanlight.operators.emission import Emission, decide
from fanlight.operators.firing import Firings
from fanlight.operators.frame import Frame, FrameShape
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Moment
from fanlight.operators.plan import Plan
from fanlight.operators.rows import firing_rows, in_order
from fanlight.operators.trigger import NOT_DUE, Node, Now, build, is_due
from fanlight.operators.values import PaneValues, pane_values, retractions

Timers = tuple[int, int]
"""When the next timer is due: by the clock, by the watermark."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Which panes' windows are closed and expired, and which of them closed in this very step."""

    closed: Bools
    expired: Bools
    closing: Bools

    @staticmethod
    def of(frame: Frame, moment: Moment) -> Phase:
        """The phase of panes whose windows follow the watermark."""
        closed, expired = frame.windows <= moment.closed, frame.windows <= moment.expired
        return Phase(closed, expired, closed & (frame.windows > moment.closed_before))


class Examiner:
    """The trigger of a spec and what it does to panes, however these are kept."""

    def __init__(
        self,
        plan: Plan,
        messages: Messages | None,
        own: dict[str, tuple[str, int]] | None = None,
        keeps: pa.DataType | None = None,
    ) -> None:
        self._plan = plan
        self._messages = messages
        self.trigger: Node = build(plan.spec.trigger, plan.spec.semantics)
        self._heeds_signal = any(isinstance(part, OnSignal) for part in plan.spec.trigger.walk())
        self._discards = plan.spec.accumulation is Accumulation.DISCARDING
        shows = plan.spec.updated_only or plan.spec.accumulation is Accumulation.RETRACTING
        self.shape = FrameShape(plan, (own or {}) | self.trigger.columns, shows=shows, keeps=keeps)

    def examine(self, frame: Frame, touched: Bools, phase: Phase, moment: Moment) -> Firings | None:
        """Ask the triggers of the panes that something happened to; what leaves, in order. The frame changes."""
        now = Now(phase.closed, phase.expired, moment.watermark, moment.clock, moment.signal)
        by_clock, by_watermark = self.trigger.due(frame.state)
        timed = is_due(by_clock, moment.clock) | is_due(by_watermark, moment.watermark)
        running = ~frame.state["finished"]
        asked = running & (touched | phase.closing | phase.expired | timed | self.signalled(moment))
        ready = asked & self.trigger.ready(frame.state, now)
        self.trigger.fired(frame.state, ready, now)
        frame.state["finished"] |= ready & self.trigger.done(frame.state)
        emission = decide(self._plan.spec, frame, ready, running & phase.expired, now, phase.closing)
        firings = self._leave(frame, emission)
        self._settle(frame, emission, phase.closing, moment)
        return firings

    def signalled(self, moment: Moment) -> bool:
        """Whether the caller's signal makes this step look at every pane."""
        return self._heeds_signal and moment.signal.said

    def is_due(self, timers: Timers, moment: Moment) -> bool:
        """Whether a timer rings in this step."""
        return bool(is_due(timers[0], moment.clock) or is_due(timers[1], moment.watermark))

    def timers(self, frame: Frame, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Timers]:
        """The next timers of the panes from each of `starts` up to the next."""
        stopped = frame.state["finished"]
        by_clock, by_watermark = (np.where(stopped, NOT_DUE, due) for due in self.trigger.due(frame.state))
        clocks, watermarks = np.minimum.reduceat(by_clock, starts), np.minimum.reduceat(by_watermark, starts)
        return list(zip(clocks.tolist(), watermarks.tolist(), strict=True))

    def values(self, frame: Frame) -> PaneValues:
        """The values of the panes' content, one column an aggregate."""
        after = frame.state["mark"] if self._discards else None
        return pane_values(self._plan, self._messages, frame.windows, frame.keys, frame.partials, after)

    def _leave(self, frame: Frame, emission: Emission) -> Firings | None:
        """The rows of the firings that leave; remembers what they show."""
        spec = self._plan.spec
        leaving = frame.where(emission.leaves)
        if not len(leaving):
            return None
        found = self.values(leaving)
        withheld = self._withheld(leaving, found)
        if withheld is not None:
            fits = found.fit(len(leaving))
            emission.leaves[np.flatnonzero(emission.leaves)[~fits]] = False
            leaving, found = leaving.where(fits), found.take(np.flatnonzero(fits))
        values = found.columns
        if spec.updated_only:
            differs = changed(leaving.shown, values) | (leaving.state["index"] == 0)
            emission.leaves[np.flatnonzero(emission.leaves)[~differs]] = False
            leaving, values = leaving.where(differs), [column.filter(pa.array(differs)) for column in values]
        rows = np.flatnonzero(emission.leaves)
        starts, ends = leaving.bounds(self._plan)
        times = self._plan.fold.stamps(leaving.partials, ends, spec.tick.micros)
        before = retractions(self._plan, leaving.shown, leaving.state["index"] > 0) if leaving.shown else []
        firings = firing_rows(
            leaving,
            (starts, ends),
            before,
            values,
            times,
            emission.timing[rows],
            emission.is_last[rows],
            spec.accumulation,
        )
        frame.show(rows, values)
        return Firings.joined([part for part in (firings, withheld) if part is not None and len(part)])

    def _withheld(self, leaving: Frame, values: PaneValues) -> Firings | None:
        """The firings that cannot leave, because a value of theirs cannot be represented; in order."""
        if not values.outside:
            return None
        rows = np.array(sorted(values.outside), np.int64)
        panes = leaving.take(rows)
        starts, ends = panes.bounds(self._plan)
        order = in_order(starts, ends, panes.keys)
        keys = [column.take(pa.array(order)) for column in panes.keys]
        return Firings.once(keys, starts[order], ends[order], values.take(rows[order]), ends[order])

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
