"""Evaluate the triggers of panes, turn firings into rows, and update the panes that have fired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.differences import changed
from fanlight.kernels.grouping.groups import Bools
from fanlight.model.firing import Accumulation, Timing
from fanlight.model.triggers import OnSignal
from fanlight.operators.window.firing.changelog import firing_rows, in_order
from fanlight.operators.window.firing.emission_rules import Emission, decide
from fanlight.operators.window.firing.pane_table import STANDS, PaneTable, PaneTableShape
from fanlight.operators.window.firing.rows import Firings, PaneValues, pane_values, retractions
from fanlight.operators.window.firing.trigger import NOT_DUE, Node, Now, is_due
from fanlight.operators.window.firing.trigger.build import build
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime

Timers = tuple[int, int]
"""When the next timer is due: by the clock, by the watermark."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Which panes' windows are closed, which are expired, and which closed in this step."""

    closed: Bools
    expired: Bools
    closing: Bools

    @staticmethod
    def of(table: PaneTable, step: StepTime) -> Phase:
        """The phase of panes whose windows follow the watermark."""
        closed, expired = table.windows <= step.closed, table.windows <= step.expired
        return Phase(closed, expired, closed & (table.windows > step.closed_before))


class TriggerEvaluator:
    """Runs the trigger of a spec on panes, however they are stored."""

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
        changes = plan.spec.changes is not None
        shows = plan.spec.updated_only or plan.spec.accumulation is Accumulation.RETRACTING or changes
        state = (own or {}) | (STANDS if changes else {}) | self.trigger.columns
        self.shape = PaneTableShape(plan, state, shows=shows, keeps=keeps)

    def evaluate(self, table: PaneTable, touched: Bools, phase: Phase, step: StepTime) -> Firings | None:
        """Evaluate the triggers of these panes; returns the firings, in order. The table changes."""
        now = Now(phase.closed, phase.expired, step.watermark, step.clock, step.signal)
        by_clock, by_watermark = self.trigger.due(table.state)
        timed = is_due(by_clock, step.clock) | is_due(by_watermark, step.watermark)
        running = ~table.state["finished"]
        asked = running & (touched | phase.closing | phase.expired | timed | self.signalled(step))
        ready = asked & self.trigger.ready(table.state, now)
        self.trigger.fired(table.state, ready, now)
        table.state["finished"] |= ready & self.trigger.done(table.state)
        held = self._plan.aggregation.held(table.partials)
        emission = decide(self._plan.spec, table, ready, running & phase.expired, now, phase.closing, held)
        firings = self._leave(table, emission)
        self._settle(table, emission, phase.closing, step)
        return firings

    def signalled(self, step: StepTime) -> bool:
        """Whether the caller's signal makes this step look at every pane."""
        return self._heeds_signal and step.signal.said

    def is_due(self, timers: Timers, step: StepTime) -> bool:
        """Whether a timer is due in this step."""
        return bool(is_due(timers[0], step.clock) or is_due(timers[1], step.watermark))

    def timers(self, table: PaneTable, starts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Timers]:
        """The next timers of the panes from each of `starts` up to the next."""
        stopped = table.state["finished"]
        by_clock, by_watermark = (np.where(stopped, NOT_DUE, due) for due in self.trigger.due(table.state))
        clocks, watermarks = np.minimum.reduceat(by_clock, starts), np.minimum.reduceat(by_watermark, starts)
        return list(zip(clocks.tolist(), watermarks.tolist(), strict=True))

    def values(self, table: PaneTable) -> PaneValues:
        """The values of the panes' content, one column an aggregate."""
        after = table.state["mark"] if self._discards else None
        return pane_values(self._plan, self._messages, table.windows, table.keys, table.partials, after)

    def _leave(self, table: PaneTable, emission: Emission) -> Firings | None:
        """The rows of the firings that are emitted; remembers their values."""
        spec = self._plan.spec
        leaving = table.where(emission.leaves)
        if not len(leaving):
            return None
        found = self.values(leaving)
        withheld = self._withheld(leaving, found)
        if withheld is not None:
            fits = found.outside.fits
            emission.leaves[np.flatnonzero(emission.leaves)[~fits]] = False
            leaving, found = leaving.where(fits), found.where(fits)
        values = found.columns
        if spec.updated_only:
            differs = changed(leaving.shown, values) | ~leaving.stands
            if spec.changes is not None:
                differs |= self._is_empty(leaving)
            emission.leaves[np.flatnonzero(emission.leaves)[~differs]] = False
            leaving, values = leaving.where(differs), [column.filter(pa.array(differs)) for column in values]
        rows = np.flatnonzero(emission.leaves)
        starts, ends = leaving.bounds(self._plan)
        times = self._plan.aggregation.stamps(leaving.partials, ends, spec.tick.micros)
        before = retractions(self._plan, leaving.shown, leaving.stands) if leaving.shown else []
        firings = firing_rows(
            leaving,
            (starts, ends),
            before,
            values,
            times,
            emission.timing[rows],
            emission.is_last[rows],
            spec.accumulation,
            None if spec.changes is None else self._is_empty(leaving),
        )
        table.show(rows, values)
        return Firings.joined([part for part in (firings, withheld) if part is not None and len(part)])

    def _is_empty(self, table: PaneTable) -> Bools:
        """Which panes hold no row: where changes come, they may have taken all back."""
        return self._plan.aggregation.held(table.partials) <= 0

    def _withheld(self, leaving: PaneTable, values: PaneValues) -> Firings | None:
        """The firings that are withheld, because a value does not fit its type; in order."""
        if not values.outside:
            return None
        rows = values.outside.rows
        panes = leaving.take(rows)
        starts, ends = panes.bounds(self._plan)
        order = in_order(starts, ends, panes.keys)
        keys = [column.take(pa.array(order)) for column in panes.keys]
        return Firings.once(keys, starts[order], ends[order], values.take(rows[order]), ends[order])

    def _settle(self, table: PaneTable, emission: Emission, closing: Bools, step: StepTime) -> None:
        """Update the panes after firing."""
        state, aggregation = table.state, self._plan.aggregation
        fires, leaves = emission.fires, emission.leaves
        if self._plan.spec.changes is not None:
            state["stands"] = np.where(leaves, ~self._is_empty(table), state["stands"])
        state["index"] += leaves
        state["revision"] += leaves & (emission.timing != Timing.EARLY)
        state["pending"][fires] = 0
        state["mark"][fires] = step.arrived
        state["held"] = ~fires & (state["pending"] > 0) & (state["held"] | closing)
        retained = self._plan.spec.retention is not None  # the content of finished panes stays readable then
        emptied = np.zeros_like(fires) if retained else state["finished"].copy()
        if self._discards:
            emptied |= fires
        if emptied.any():
            places = np.flatnonzero(emptied)
            table.partials = table.partials.put(places, aggregation.identity(len(places)))
        if self._plan.spec.semantics.holds:
            table.partials = aggregation.unstamp(table.partials, fires)
