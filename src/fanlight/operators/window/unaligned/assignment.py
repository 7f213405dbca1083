"""Assign records to unaligned panes: the protocol of a kind of window, and what kinds share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, KeyCodes, least_times
from fanlight.model.reason import Reason
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness, rejected, rejected_each
from fanlight.operators.window.firing.evaluate_triggers import Phase, TriggerEvaluator
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.trigger import News
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.end_buckets import Buckets
from fanlight.state.store import ChunkStore

Bringing = Callable[[Groups], tuple[Partials, Ints | None]]
"""Gives the new partials of each group, and their least time if the trigger needs it."""


@dataclass(frozen=True, slots=True)
class AssignedPanes:
    """The outcome of a bundle: the accepted records, their panes now, and the panes that these replace."""

    accepted: Accepted | None
    table: PaneTable
    touched: Bools
    replaced: PaneTable | None = None


class WindowAssignment(Protocol):
    """One kind of unaligned window on one shard."""

    def assign(
        self,
        accepted: Accepted | None,
        preaggregated: Any,  # from the plan's own pre-aggregator, or None
        step: StepTime,
    ) -> AssignedPanes:
        """Judge records, add them to their panes, and notify the triggers."""

    def phase(self, table: PaneTable, step: StepTime) -> Phase:
        """Which of these panes' windows are closed and expired."""

    def retire(self, step: StepTime) -> None:
        """Delete state that no window can need any more."""


class ByWatermark:
    """Shared by kinds whose windows follow the watermark and that store nothing besides their panes."""

    def phase(self, table: PaneTable, step: StepTime) -> Phase:
        """Which of these panes' windows are closed and expired."""
        return Phase.of(table, step)

    def retire(self, step: StepTime) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True)
class ShardContext:
    """What a kind of window works with on one shard."""

    plan: Plan
    store: ChunkStore
    evaluator: TriggerEvaluator
    buckets: Buckets
    lateness: Lateness
    books: Books

    def reject(self, accepted: Accepted, dead: Bools, reason: Reason) -> Accepted:
        """Make dead letters of the dead records; returns the others."""
        return rejected(accepted, dead, reason, self.books)

    def reject_each(self, accepted: Accepted, dead: Bools, reason: Reason) -> Accepted:
        """The same, where each dead record has missed one window."""
        return rejected_each(accepted, dead, reason, self.books)

    def bringing(self, accepted: Accepted, rows: Ints) -> Bringing:
        """The partials of (record, window) pairs; `rows` is the record of each."""

        def brought(groups: Groups) -> tuple[Partials, Ints | None]:
            places, times = pa.array(rows), accepted.bundle.times[rows]
            values = [None if column is None else column.take(places) for column in accepted.values(self.plan)]
            counted = accepted.counted(self.plan)
            counted = None if counted is None else counted[rows]
            least = least_times(times, groups) if self.plan.spec.has_event_timers else None
            return self.plan.aggregation.partial(values, times, groups, counted, accepted.arrivals[rows]), least

        return brought

    def nothing(self, accepted: Accepted | None) -> AssignedPanes:
        """The outcome if no record was accepted."""
        return AssignedPanes(accepted, self.evaluator.shape.none(), np.zeros(0, np.bool_))


def handed_on(
    plan: Plan, evaluator: TriggerEvaluator, fresh: PaneTable, olds: PaneTable, owners: Ints, step: StepTime
) -> tuple[PaneTable, Bools]:
    """Merge old panes into the new panes of `fresh`; and which old panes were replaced.

    `owners` is the new pane of each old one. A new pane with the bounds of its only old one is that pane.
    """
    if not len(olds):
        return fresh, np.zeros(0, np.bool_)
    groups = Groups(owners, len(fresh))
    closed = fresh.windows <= step.closed_before
    evaluator.trigger.merge(olds.state, groups, closed, into=fresh.state)
    np.add.at(fresh.state["pending"], owners, olds.state["pending"])
    held = np.zeros(len(fresh), np.bool_)
    # Pending records of an open session were in time, also for the shorter session that a cut makes of it.
    waiting = olds.state["held"] | ((olds.windows > step.closed_before) & (olds.state["pending"] > 0))
    held[owners[waiting]] = True
    fresh.state["held"] = held & closed
    present, compact = np.unique(owners, return_inverse=True)
    merged = plan.aggregation.merge(olds.partials, Groups(compact, len(present)))
    fresh.partials = merged if len(present) == len(fresh) else fresh.partials.put(present, merged)
    alone = groups.sizes()[owners] == 1
    same = alone & (olds.windows == fresh.windows[owners]) & (olds.state["start"] == fresh.state["start"][owners])
    for name, column in olds.state.items():  # nothing was merged there
        fresh.state[name][owners[same]] = column[same]
    if fresh.shown:
        fresh.show(owners[same], [column.filter(pa.array(same)) for column in olds.shown])
    return fresh, ~same


@dataclass(frozen=True, slots=True)
class Regrouping:
    """Panes and records regrouped: the new pane of each, and the key and bounds of each new pane."""

    owners: Ints
    """The new pane of each live one."""
    came: Ints
    """The new pane of each (record, window) pair, or of each pre-aggregated row."""
    codes: Ints
    starts: Ints
    ends: Ints

    def of(self, live: Bools) -> Regrouping:
        """The same new panes, with only these of the live panes."""
        return Regrouping(self.owners[live], self.came, self.codes, self.starts, self.ends)


def regroup(
    context: ShardContext,
    live: PaneTable,
    accepted: Accepted | None,
    brought: Bringing,
    regrouping: Regrouping,
    found: KeyCodes,
    step: StepTime,
) -> AssignedPanes:
    """Add new partials to their panes; `accepted` are their records. Panes that get nothing do not change."""
    count = len(regrouping.ends)
    touched = np.zeros(count, np.bool_)
    touched[regrouping.came] = True
    number = np.cumsum(touched) - 1
    changing = touched[regrouping.owners]
    olds = live.where(changing)
    context.buckets.rest(live.where(~changing))
    context.buckets.change(olds)
    fresh = context.evaluator.shape.fresh(regrouping.ends[touched], found.take(regrouping.codes[touched]))
    fresh.state["start"] = regrouping.starts[touched]
    table, gone = handed_on(context.plan, context.evaluator, fresh, olds, number[regrouping.owners[changing]], step)
    groups = Groups(number[regrouping.came], len(table))
    came, least = brought(groups)
    notify(context, table, came, least, step)
    return AssignedPanes(accepted, table, np.ones(len(table), np.bool_), olds.where(gone) if gone.any() else None)


def notify(context: ShardContext, table: PaneTable, came: Partials, least: Ints | None, step: StepTime) -> None:
    """Add new partials to the panes, one row for each, and notify their triggers."""
    table.partials = context.plan.aggregation.combine(table.partials, came)
    table.state["pending"] += came.rows
    earliest = np.zeros(len(table), np.int64) if least is None else least
    context.evaluator.trigger.told(table.state, came.rows > 0, News(came.rows, step.clock, earliest))
