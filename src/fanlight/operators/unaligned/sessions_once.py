"""Sessions that fire once, when they expire: their bounds and partials are all the state there is."""

from __future__ import annotations

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
        self._at_work: list[Stretches] = []
        self._changed: list[Ints] = []  # where sessions ended that are no more, and where new ones do
        self._fired: Stretches | None = None

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
        self._at_work = [live.where(~gathered.involved), sessions]
        self._changed = [met.ends, sessions.ends]
        return gathered.taken

    def fire(self, moment: Moment) -> Firings | None:
        """The sessions that have expired; the others are kept."""
        through = moment.expired
        parts, changed = [*self._at_work, self._open.ending_by(through)], self._changed
        self._at_work, self._changed = [], []
        fired = Stretches.concat([part.where(part.ends <= through) for part in parts])
        self._open.save([part.where(part.ends > through) for part in parts], [*changed, fired.ends])
        fired = _ordered(fired)
        self._fired = None if self._plan.spec.retention is None else fired
        if not len(fired):
            return None
        fold, tick = self._plan.fold, self._plan.spec.tick.micros
        times = fold.stamps(fired.partials, fired.ends, tick)
        return Firings.once(fired.keys, fired.starts, fired.ends, fold.finish(fired.partials), times)

    def retire(self, through: int) -> None:
        """Expired sessions are not saved; there is nothing more to forget."""

    def expiring(self, moment: Moment) -> Content:
        """What the sessions held that have expired in this step."""
        return Content.empty(self._plan) if self._fired is None else self._content(self._fired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live sessions hold that end from `first` to `last`."""
        rows = self._open.everything()
        return self._content(_ordered(rows.where((rows.ends >= first) & (rows.ends <= last))))

    def _content(self, rows: Stretches) -> Content:
        return Content(rows.ends, rows.keys, rows.partials.rows, self._plan.fold.finish(rows.partials), rows.starts)


def _ordered(rows: Stretches) -> Stretches:
    """Sessions in the order they leave in."""
    return rows.take(in_order(rows.starts, rows.ends, rows.keys))
