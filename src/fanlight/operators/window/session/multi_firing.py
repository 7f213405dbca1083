"""Sessions that can fire more than once: each record has an interval, and overlapping intervals are one window."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Groups, Ints, least_times
from fanlight.model.windows.session import Session
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.session.merge import Live, SessionMerge
from fanlight.operators.window.session.runs import SessionRuns
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import (
    AssignedPanes,
    Bringing,
    ByWatermark,
    Regrouping,
    ShardContext,
    regroup,
)


class MergingSessions(ByWatermark):
    """Sessions that only a gap ends: a live session is one pane, and its records are not kept."""

    def __init__(self, context: ShardContext, kind: Session) -> None:
        self._context = context
        self._intake = SessionMerge(context.plan, kind, context.lateness, context.books)

    def assign(self, accepted: Accepted | None, preaggregated: SessionRuns | None, step: StepTime) -> AssignedPanes:
        """Let records, pre-aggregated ones included, create, extend and merge sessions."""
        context = self._context
        coming = self._intake.read(accepted, preaggregated)
        if not len(coming):
            return context.nothing(coming.accepted)
        live = context.buckets.fetch(coming.first)
        finished = live.state["finished"]
        if finished.any():
            over = live.where(finished)
            coming = self._intake.without_finished(coming, _bounds(over))
            context.buckets.rest(over)
            live = live.where(~finished)
        gathered = self._intake.gather(coming, _bounds(live))
        context.buckets.rest(live.where(~gathered.involved))
        live, whole = live.where(gathered.involved), gathered.clusters
        owners, came = np.split(whole.groups.codes, [len(live)])
        regrouping = Regrouping(owners, came, whole.codes, whole.starts, whole.ends)
        return regroup(
            context, live, gathered.accepted, self._bringing(gathered.came), regrouping, gathered.found, step
        )

    def _bringing(self, came: SessionRuns) -> Bringing:
        def brought(groups: Groups) -> tuple[Partials, Ints | None]:
            plan = self._context.plan
            least = least_times(came.starts, groups) if plan.spec.has_event_timers else None
            return plan.aggregation.merge(came.partials, groups), least

        return brought


def _bounds(table: PaneTable) -> Live:
    return Live(table.keys, table.state["start"], table.windows)
