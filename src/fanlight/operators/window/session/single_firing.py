"""Sessions that fire once, when they expire: their bounds and partials are the only state."""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.windows.session import Session
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness
from fanlight.operators.window.firing.changelog import in_order
from fanlight.operators.window.firing.rows import Firings, PaneValues, incremental_values
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.merge import Live, SessionMerge
from fanlight.operators.window.session.open_sessions import OpenSessions, bucket_width
from fanlight.operators.window.session.runs import SessionRuns, SessionRunsShape
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import ChunkStore


class SessionsOnce:
    """Merges new records with the live sessions they meet; an expired session fires and is deleted."""

    def __init__(
        self,
        plan: Plan,
        kind: Session,
        store: ChunkStore,
        lateness: Lateness,
        books: Books,
    ) -> None:
        self._plan = plan
        self._open = OpenSessions(plan, store, bucket_width(kind))
        self._intake = SessionMerge(plan, kind, lateness, books)
        self._none = SessionRunsShape(plan).none()
        self._made = self._none  # the sessions that this step has created or changed
        self._met = self._none.ends  # where the changed sessions ended before
        self._left = self._none  # read in this step, and unchanged
        self._expired: Content | None = None

    def take_in(self, accepted: Accepted | None, preaggregated: SessionRuns | None, step: StepTime) -> Accepted | None:
        """Judge the records; the accepted and the pre-aggregated ones create, extend and merge sessions."""
        coming = self._intake.read(accepted, preaggregated)
        if not len(coming):
            return coming.accepted
        live = self._open.ending_from(coming.first)
        gathered = self._intake.gather(coming, Live(live.keys, live.starts, live.ends))
        met, whole = live.where(gathered.involved), gathered.clusters
        brought = Partials.concat([part.partials for part in (met, gathered.came) if len(part)] or [met.partials])
        partials = self._plan.aggregation.merge(brought, whole.groups)
        sessions = SessionRuns(whole.starts, whole.ends, gathered.found.take(whole.codes), partials)
        self._made, self._left, self._met = sessions, live.where(~gathered.involved), met.ends
        return gathered.accepted

    def fire(self, step: StepTime) -> Firings | None:
        """The sessions that have expired; the others are kept."""
        through, made = step.expired, self._made
        olds = SessionRuns.concat([self._left, self._open.ending_by(through)])
        ended, over = made.ends <= through, olds.ends <= through
        kept, fired = made.where(~ended), SessionRuns.concat([made.where(ended), olds.where(over)])
        self._open.save([kept, olds.where(~over)], changed=[self._met, kept.ends, olds.ends[over]])
        self._made, self._left, self._met = self._none, self._none, self._none.ends
        self._expired = None
        if not len(fired):
            return None
        order, values, held = self._held(fired)
        self._expired = None if self._plan.spec.retention is None else held
        assert held.starts is not None  # sessions store their starts
        times = self._plan.aggregation.stamps(fired.partials, fired.ends, self._plan.spec.tick.micros)
        return Firings.once(held.keys, held.starts, held.windows, values, times[order])

    def retire(self, through: int) -> None:
        """Nothing to do: expired sessions are not saved."""

    def expiring(self, step: StepTime) -> Content:
        """The content of the sessions that have expired in this step."""
        return Content.empty(self._plan) if self._expired is None else self._expired

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live sessions that end from `first` to `last`."""
        rows = self._open.everything()
        return self._held(rows.where((rows.ends >= first) & (rows.ends <= last)))[2]

    def _held(self, rows: SessionRuns) -> tuple[Ints, PaneValues, Content]:
        """The output order of sessions, and their values and content in that order."""
        order = in_order(rows.starts, rows.ends, rows.keys)
        keys = [column.take(pa.array(order)) for column in rows.keys]
        values = incremental_values(self._plan, rows.partials).take(order)
        held = Content(rows.ends[order], keys, rows.partials.rows[order], values.columns, rows.starts[order])
        return order, values, held
