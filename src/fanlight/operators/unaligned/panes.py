"""The panes of windows that each key has for itself: joined, examined, and kept by where they end."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Bools
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.examiner import Examiner
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded, Stretches
from fanlight.operators.frame import Frame
from fanlight.operators.lateness import Lateness
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.rows import in_order
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.buckets import Buckets
from fanlight.operators.unaligned.choose import choose, kept_type, own_columns, width_of
from fanlight.operators.unaligned.joining import Joined, Room
from fanlight.operators.unaligned.sessions import Sessions
from fanlight.operators.values import retractions
from fanlight.state.store import ChunkStore


class UnalignedPanes:
    """What all kinds of unaligned windows share; how records join their panes is the kind's own."""

    def __init__(
        self, plan: Plan, store: ChunkStore, lateness: Lateness, letters: DeadLetters, accounting: Accounting
    ) -> None:
        self._plan = plan
        kind = plan.spec.window
        self._examiner = Examiner(plan, None, own_columns(kind), kept_type(plan))
        self._buckets = Buckets(plan, store, self._examiner, width_of(kind))
        room = Room(plan, store, self._examiner, self._buckets, lateness, letters, accounting)
        self._joining = choose(room)
        self._retracts = plan.spec.accumulation is Accumulation.RETRACTING
        self._retains = plan.spec.retention is not None
        self._joined: Joined | None = None
        self._expired: Frame | None = None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Judge the records and let them join; those that could not are buried."""
        if isinstance(self._joining, Sessions):
            assert folded is None or isinstance(folded, Stretches)
            self._joined = self._joining.join(taken, moment, folded)
        else:
            assert taken is not None  # nothing is folded before it comes
            self._joined = self._joining.join(taken, moment)
        return self._joined.taken

    def fire(self, moment: Moment) -> Firings | None:
        """What leaves: first what is taken back because sessions were joined, then the firings."""
        joined, self._joined = self._joined, None
        due = self._buckets.due(moment)
        frame, touched = due, np.zeros(len(due), np.bool_)
        if joined is not None:
            frame = self._examiner.shape.join([joined.frame, due])
            touched = np.concatenate([joined.touched, touched])
        leaving = []
        if joined is not None and joined.replaced is not None and self._retracts:
            leaving.append(self._taking_back(joined.replaced, moment))
        phase = self._joining.phase(frame, moment)
        if len(frame):
            leaving.append(self._examiner.examine(frame, touched, phase, moment))
        self._buckets.change(frame)
        self._buckets.save(frame.where(~phase.expired))
        self._expired = frame.where(phase.expired) if self._retains else None
        self._joining.retire(moment)
        return Firings.joined([firings for firings in leaving if firings is not None])

    def retire(self, through: int) -> None:
        """Expired panes are not saved; there is nothing more to forget."""

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes hold whose windows end from `first` to `last`."""
        frame = self._buckets.everything()
        return self._content(frame.where((frame.windows >= first) & (frame.windows <= last)))

    def expiring(self, moment: Moment) -> Content:
        """What the panes held that have expired in this step."""
        return Content.empty(self._plan) if self._expired is None else self._content(self._expired)

    def _content(self, frame: Frame) -> Content:
        frame = frame.where(frame.partials.rows > 0)
        frame = frame.take(in_order(frame.state["start"], frame.windows, frame.keys))
        values = self._examiner.values(frame).columns
        return Content(frame.windows, frame.keys, frame.partials.rows, values, frame.state["start"])

    def _taking_back(self, replaced: Frame, moment: Moment) -> Firings | None:
        """Rows that take back what replaced panes have shown."""
        shown = replaced.where(replaced.state["index"] > 0)
        if not len(shown):
            return None
        shown = shown.take(in_order(shown.state["start"], shown.windows, shown.keys))
        every: Bools = np.ones(len(shown), np.bool_)
        late = shown.windows <= moment.closed
        values: list[pa.Array] = retractions(self._plan, shown.shown, every)
        return Firings(
            shown.keys,
            shown.state["start"],
            shown.windows,
            values,
            np.full(len(shown), Op.DELETE, np.int64),
            np.where(late, Timing.LATE, Timing.EARLY),
            shown.state["index"],
            np.where(late, shown.state["revision"], -1),
            every,
            self._plan.fold.stamps(shown.partials, shown.windows, self._plan.spec.tick.micros),
        )
