"""The pane store of unaligned windows: records are assigned, triggers evaluated, and panes stored by their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.lists import taken_apart
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.firing.changelog import in_order
from fanlight.operators.window.firing.evaluate_triggers import TriggerEvaluator
from fanlight.operators.window.firing.outside import Outside
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.rows import Firings, retractions
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import AssignedPanes, ShardContext, WindowAssignment
from fanlight.operators.window.unaligned.end_buckets import OWN, USUAL_WIDTH, Buckets
from fanlight.state.store import ChunkStore


class UnalignedPanes:
    """Shared by all kinds of unaligned windows. The kind decides how records are assigned to panes."""

    def __init__(
        self,
        plan: Plan,
        store: ChunkStore,
        lateness: Lateness,
        books: Books,
        assignment: Callable[[ShardContext], WindowAssignment],
        *,
        width: int = USUAL_WIDTH,
        own: dict[str, tuple[str, int]] = OWN,
        kept: pa.DataType | None = None,
    ) -> None:
        """`assignment` is the kind's own. `width` is that of the buckets panes are kept in, `own` what panes keep
        beside their trigger's state, and `kept` what they keep of each record, if their windows can be cut anew.
        """
        self._plan = plan
        self._evaluator = TriggerEvaluator(plan, None, own, kept)
        self._buckets = Buckets(plan, store, self._evaluator, width)
        self._assignment = assignment(ShardContext(plan, store, self._evaluator, self._buckets, lateness, books))
        self._retracts = plan.spec.accumulation is Accumulation.RETRACTING
        self._retains = plan.spec.retention is not None
        self._assigned: AssignedPanes | None = None
        self._expired: PaneTable | None = None

    def take_in(self, accepted: Accepted | None, preaggregated: Any, step: StepTime) -> Accepted | None:
        """Judge the records and assign them to panes; records that cannot be used become dead letters."""
        self._assigned = self._assignment.assign(accepted, preaggregated, step)
        return self._assigned.accepted

    def fire(self, step: StepTime) -> Firings | None:
        """The output rows: first the deletions of replaced panes, then the firings."""
        assigned, self._assigned = self._assigned, None
        due = self._buckets.due(step)
        table, touched = due, np.zeros(len(due), np.bool_)
        if assigned is not None:
            table = PaneTable.concat([assigned.table, due])
            touched = np.concatenate([assigned.touched, touched])
        leaving = []
        if assigned is not None and assigned.replaced is not None and self._retracts:
            leaving.append(self._taking_back(assigned.replaced, step))
        phase = self._assignment.phase(table, step)
        if len(table):
            leaving.append(self._evaluator.evaluate(table, touched, phase, step))
        self._buckets.change(table)
        self._buckets.save(table.where(~phase.expired))
        self._expired = table.where(phase.expired) if self._retains else None
        self._assignment.retire(step)
        return Firings.joined([firings for firings in leaving if firings is not None])

    def retire(self, through: int) -> None:
        """Nothing to do for panes: expired ones are not saved."""

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live panes whose windows end from `first` to `last`."""
        table = self._buckets.everything()
        return self._content(table.where((table.windows >= first) & (table.windows <= last)))

    def expiring(self, step: StepTime) -> Content:
        """The content of the panes that have expired in this step."""
        if self._expired is None:
            return Content.empty(self._plan)
        return self._content(self._expired, every=self._plan.keeps_messages)  # messages stay, whatever was discarded

    def _content(self, table: PaneTable, *, every: bool = False) -> Content:
        if not every:
            table = table.where(table.partials.rows > 0)
        table = table.take(in_order(table.state["start"], table.windows, table.keys))
        values = self._evaluator.values(table).columns
        starts, members = table.state["start"], self._members(table) if self._plan.keeps_messages else None
        return Content(table.windows, table.keys, table.partials.rows, values, starts, members=members)

    def _members(self, table: PaneTable) -> tuple[Ints, Ints] | None:
        """The arrival number and the pane of each record, if panes keep their records."""
        if not table.kept:
            return None
        records, panes = taken_apart(table.kept[0])
        return records.field("arrival").to_numpy(), panes.codes

    def _taking_back(self, replaced: PaneTable, step: StepTime) -> Firings | None:
        """Rows that take back the emitted values of replaced panes."""
        shown = replaced.where(replaced.state["index"] > 0)
        if not len(shown):
            return None
        shown = shown.take(in_order(shown.state["start"], shown.windows, shown.keys))
        every: Bools = np.ones(len(shown), np.bool_)
        late = shown.windows <= step.closed
        values: list[pa.Array] = retractions(self._plan, shown.shown, every)
        return Firings(
            shown.state["start"],
            shown.windows,
            shown.keys,
            values,
            np.full(len(shown), Op.DELETE, np.int64),
            np.where(late, Timing.LATE, Timing.EARLY),
            shown.state["index"],
            np.where(late, shown.state["revision"], -1),
            every,
            self._plan.aggregation.stamps(shown.partials, shown.windows, self._plan.spec.tick.micros),
            Outside(len(shown)),
        )
