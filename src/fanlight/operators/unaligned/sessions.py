"""Sessions: each record brings an interval, and intervals that overlap are one window."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Groups, Ints
from fanlight.model.sessions import Session
from fanlight.operators.folded import Stretches, least_times, wants_times
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.joining import Bringing, ByWatermark, Joined, Regrouping, Room, regroup
from fanlight.operators.unaligned.session_intake import Live, SessionIntake


class Sessions(ByWatermark):
    """Sessions that only silence ends: a live session is one pane, and that is all that is kept of its records."""

    def __init__(self, room: Room, kind: Session) -> None:
        self._room = room
        self._intake = SessionIntake(room.plan, kind, room.lateness, room.letters, room.accounting)

    def join(self, taken: Taken | None, moment: Moment, folded: Stretches | None = None) -> Joined:
        """Let records, and records that came folded, make, lengthen and bridge sessions."""
        room = self._room
        coming = self._intake.read(taken, folded)
        if not len(coming):
            return room.nothing(coming.taken)
        live = room.buckets.fetch(coming.first)
        finished = live.state["finished"]
        if finished.any():
            over = live.where(finished)
            coming = self._intake.without_finished(coming, _bounds(over))
            room.buckets.rest(over)
            live = live.where(~finished)
        gathered = self._intake.gather(coming, _bounds(live))
        room.buckets.rest(live.where(~gathered.involved))
        live, whole = live.where(gathered.involved), gathered.clusters
        owners, came = np.split(whole.groups.codes, [len(live)])
        regrouping = Regrouping(owners, came, whole.codes, whole.starts, whole.ends)
        return regroup(room, live, gathered.taken, self._bringing(gathered.came), regrouping, gathered.found, moment)

    def _bringing(self, came: Stretches) -> Bringing:
        def brought(groups: Groups) -> tuple[Partials, Ints | None]:
            plan = self._room.plan
            least = least_times(came.starts, groups) if wants_times(plan.spec) else None
            return plan.fold.merge(came.partials, groups), least

        return brought


def _bounds(frame: Frame) -> Live:
    return Live(frame.keys, frame.state["start"], frame.windows)
