"""Panes that can fire more than once: each keeps its content and the state of its trigger."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, runs
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.reason import Reason
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, rejected
from fanlight.operators.window.aligned.bundle_partials import BundlePartials, bundle_partials, preaggregated_partials
from fanlight.operators.window.firing.changelog import in_order
from fanlight.operators.window.firing.evaluate_triggers import Phase, Timers, TriggerEvaluator
from fanlight.operators.window.firing.pane_table import PaneTable, find
from fanlight.operators.window.firing.rows import Firings
from fanlight.operators.window.firing.trigger import NOT_DUE, News
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregated import PreAggregatedSlices
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import Address, ChunkStore

_SPACE = "panes"


class MultiFiringPanes:
    """Adds records to panes, evaluates their triggers, and emits firings."""

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None, books: Books) -> None:
        self._plan = plan
        self._store = store
        self._messages = messages
        self._books = books
        self._evaluator = TriggerEvaluator(plan, messages)
        self._shape = self._evaluator.shape
        self._wants_times = plan.spec.has_event_timers
        self._table: PaneTable | None = None  # the panes that the step's records have touched
        self._touched: Bools = np.zeros(0, np.bool_)
        windows = [address.part for address in store.list(_SPACE)]
        self._timers: dict[int, Timers] = dict.fromkeys(windows, (NOT_DUE, NOT_DUE))  # each live window's next timers
        if plan.spec.has_timers:
            self._schedule(self._load(windows))

    def take_in(
        self, accepted: Accepted | None, preaggregated: PreAggregatedSlices | None, step: StepTime
    ) -> Accepted | None:
        """Add the records to their panes. Records whose panes have all finished become dead letters."""
        brought = None if accepted is None else bundle_partials(self._plan, accepted, timed=self._wants_times)
        if preaggregated is not None:
            more = preaggregated_partials(self._plan, preaggregated, step.expired_before)
            brought = more if brought is None else brought.join(more, self._plan)
        assert brought is not None  # a step without records takes nothing in
        table = self._load(sorted(set(np.unique(brought.windows).tolist()) & self._timers.keys()))
        rows = find(table, brought.windows, brought.keys)
        if len(table):
            finished = (rows >= 0) & table.state["finished"][rows]
            if finished.any():
                assert accepted is not None  # panes that can finish never get pre-aggregated records
                self._books.miss(int(brought.partials.rows[finished].sum()))
                accepted = rejected(accepted, brought.only_in(finished), Reason.FINISHED, self._books)
                brought, rows = brought.where(~finished), rows[~finished]
        self._add(table, rows, brought, step)
        return accepted

    def fire(self, step: StepTime) -> Firings | None:
        """Evaluate the triggers of the panes that changed or are due; returns the firings, in order."""
        table, touched = self._gather(step)
        if not len(table):
            return None
        phase = Phase.of(table, step)
        firings = self._evaluator.evaluate(table, touched, phase, step)
        kept = self._plan.spec.retention is not None
        self._save(table if kept else table.where(~phase.expired))
        return firings

    def retire(self, through: int) -> None:
        """Delete the panes of the windows up to `through`."""
        for window in [window for window in self._timers if window <= through]:
            del self._timers[window]
            self._store.delete(Address(_SPACE, window, 0))

    def expiring(self, step: StepTime) -> Content:
        """The content of the windows that expire in this step."""
        return self.content(step.expired_before + 1, step.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live panes of these windows."""
        windows = sorted(window for window in self._timers if first <= window <= last)
        if not windows:
            return Content.empty(self._plan)
        table = self._load(windows)
        held = self._plan.aggregation.held
        table = table.where(held(table.partials) > 0)
        table = table.take(in_order(*table.bounds(self._plan), table.keys))
        return Content(table.windows, table.keys, held(table.partials), self._evaluator.values(table).columns)

    def _add(self, table: PaneTable, rows: Ints, brought: BundlePartials, step: StepTime) -> None:
        """Merge the new records into the panes of `table`; rows of -1 are new panes."""
        new = rows < 0
        if new.any():
            keys = [column.filter(pa.array(new)) for column in brought.keys]
            fresh = self._shape.fresh(brought.windows[new], keys)
            rows = np.where(new, len(table) + np.cumsum(new) - 1, rows)
            table = PaneTable.concat([table, fresh])
        aggregation = self._plan.aggregation
        table.partials = table.partials.put(rows, aggregation.combine(table.partials.take(rows), brought.partials))
        counts = np.zeros(len(table), np.int64)
        counts[rows] = brought.partials.rows
        least = np.zeros(len(table), np.int64)
        least[rows] = brought.least
        table.state["pending"] += counts
        self._touched = counts > 0
        self._evaluator.trigger.told(table.state, self._touched, News(counts, step.clock, least))
        self._table = table

    def _gather(self, step: StepTime) -> tuple[PaneTable, Bools]:
        """The panes of the windows that changed or are due, and which of them got records."""
        here: set[int] = set() if self._table is None else set(np.unique(self._table.windows).tolist())
        due = [
            window
            for window, timers in self._timers.items()
            if window not in here
            and (
                step.closed_before < window <= step.closed
                or window <= step.expired
                or self._evaluator.is_due(timers, step)
                or self._evaluator.signalled(step)
            )
        ]
        others = self._load(sorted(due))
        if self._table is None:
            return others, np.zeros(len(others), np.bool_)
        table = PaneTable.concat([self._table, others])
        touched = np.concatenate([self._touched, np.zeros(len(others), np.bool_)])
        self._table = None
        return table, touched

    def _load(self, windows: list[int]) -> PaneTable:
        return self._shape.from_batches(windows, [self._store.get(Address(_SPACE, w, 0)) for w in windows])

    def _save(self, table: PaneTable) -> None:
        """Write each window's panes as one chunk."""
        if not len(table):
            return
        order = np.argsort(table.windows, kind="stable")
        if not np.array_equal(order, np.arange(len(order))):
            table = table.take(order)
        chunk = self._shape.to_batch(table)
        bounds = runs(table.windows)
        windows: list[int] = table.windows[bounds[:-1]].tolist()
        for window, start, end in zip(windows, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._store.put(Address(_SPACE, window, 0), chunk.slice(start, end - start))
        self._schedule(table)

    def _schedule(self, table: PaneTable) -> None:
        """Note when the next timer of each window is due."""
        if not len(table):
            return
        starts = runs(table.windows)[:-1]
        windows: list[int] = table.windows[starts].tolist()
        self._timers.update(zip(windows, self._evaluator.timers(table, starts), strict=True))
