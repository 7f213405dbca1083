"""Sessions that fire once, when they expire: their bounds and partials are all the state there is."""

from __future__ import annotations

import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.sessions import Session
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded, Stretches
from fanlight.operators.lateness import Lateness
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.rows import in_order
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.choose import width_of
from fanlight.operators.unaligned.open_sessions import OpenSessions
from fanlight.operators.unaligned.session_intake import Live, SessionIntake
from fanlight.operators.unaligned.stretching import StretchShape
from fanlight.operators.values import PaneValues, folded_values
from fanlight.state.store import ChunkStore


class SessionsOnce:
    """Joins what comes with the live sessions it meets; a session that has expired leaves and is forgotten."""

    def __init__(
        self,
        plan: Plan,
        kind: Session,
        store: ChunkStore,
        lateness: Lateness,
        letters: DeadLetters,
        accounting: Accounting,
    ) -> None:
        self._plan = plan
        self._open = OpenSessions(plan, store, width_of(kind))
        self._intake = SessionIntake(plan, kind, lateness, letters, accounting)
        self._none = StretchShape(plan).none()
        self._made = self._none  # what this step has made of what came and of the sessions it met
        self._met = self._none.ends  # where these ended
        self._left = self._none  # read in this step, and left as it was
        self._expired: Content | None = None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Judge the records and let them, and those that came folded, make, lengthen and bridge sessions."""
        assert folded is None or isinstance(folded, Stretches)
        coming = self._intake.read(taken, folded)
        if not len(coming):
            return coming.taken
        live = self._open.ending_from(coming.first)
        gathered = self._intake.gather(coming, Live(live.keys, live.starts, live.ends))
        met, whole = live.where(gathered.involved), gathered.clusters
        brought = Partials.concat([part.partials for part in (met, gathered.came) if len(part)] or [met.partials])
        partials = self._plan.fold.merge(brought, whole.groups)
        sessions = Stretches(whole.starts, whole.ends, gathered.found.take(whole.codes), partials)
        self._made, self._left, self._met = sessions, live.where(~gathered.involved), met.ends
        return gathered.taken

    def fire(self, moment: Moment) -> Firings | None:
        """The sessions that have expired; the others are kept."""
        through, made = moment.expired, self._made
        olds = Stretches.concat([self._left, self._open.ending_by(through)])
        ended, over = made.ends <= through, olds.ends <= through
        kept, fired = made.where(~ended), Stretches.concat([made.where(ended), olds.where(over)])
        self._open.save([kept, olds.where(~over)], changed=[self._met, kept.ends, olds.ends[over]])
        self._made, self._left, self._met = self._none, self._none, self._none.ends
        self._expired = None
        if not len(fired):
            return None
        order, values, held = self._held(fired)
        self._expired = None if self._plan.spec.retention is None else held
        assert held.starts is not None  # sessions say where they start
        times = self._plan.fold.stamps(fired.partials, fired.ends, self._plan.spec.tick.micros)
        return Firings.once(held.keys, held.starts, held.windows, values, times[order])

    def retire(self, through: int) -> None:
        """Expired sessions are not saved; there is nothing more to forget."""

    def expiring(self, moment: Moment) -> Content:
        """What the sessions held that have expired in this step."""
        return Content.empty(self._plan) if self._expired is None else self._expired

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live sessions hold that end from `first` to `last`."""
        rows = self._open.everything()
        return self._held(rows.where((rows.ends >= first) & (rows.ends <= last)))[2]

    def _held(self, rows: Stretches) -> tuple[Ints, PaneValues, Content]:
        """The order in which sessions leave; their values and what they hold, in that order."""
        order = in_order(rows.starts, rows.ends, rows.keys)
        keys = [column.take(pa.array(order)) for column in rows.keys]
        values = folded_values(self._plan, rows.partials).take(order)
        held = Content(rows.ends[order], keys, rows.partials.rows[order], values.columns, rows.starts[order])
        return order, values, held
