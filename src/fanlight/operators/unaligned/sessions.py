"""Sessions: each record brings an interval, and intervals that overlap are one window."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.groups import Ints
from fanlight.kernels.intervals import Clusters, cluster, meets
from fanlight.kernels.keys import encode_together
from fanlight.model.letters import Reason
from fanlight.model.semantics import LateSessions
from fanlight.model.sessions import Session
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.gaps import ends_of
from fanlight.operators.unaligned.joining import ByWatermark, Joined, Regrouping, Room, regroup


class Sessions(ByWatermark):
    """Sessions that only silence ends: a live session is one pane, and that is all that is kept of its records."""

    def __init__(self, room: Room, kind: Session) -> None:
        self._room = room
        self._kind = kind

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Let records make, lengthen and bridge sessions."""
        room = self._room
        ends, homeless = ends_of(room.plan, self._kind, taken)
        taken, ends = room.bury(taken, homeless, Reason.NO_WINDOW), ends[~homeless]
        if not len(taken):
            return room.nothing(taken)
        live = room.buckets.fetch(int(taken.bundle.times.min()))
        found, ours, theirs = encode_together(live.keys, len(live), taken.keys(room.plan), len(taken))
        here = np.zeros(found.count, np.bool_)
        here[theirs] = True
        finished, involved = live.state["finished"], here[ours]
        over, running = involved & finished, involved & ~finished
        finished_ones = (ours[over], live.state["start"][over], live.windows[over])
        room.buckets.rest(live.where(~running))
        live, ours = live.where(running), ours[running]
        taken, ends, theirs = self._judge(taken, ends, theirs, live, ours, finished_ones)
        whole = self._cluster(ours, live, theirs, taken.bundle.times, ends)
        owners, came = np.split(whole.groups.codes, [len(live)])
        regrouping = Regrouping(owners, came, whole.codes, whole.starts, whole.ends)
        return regroup(room, live, taken, None, regrouping, found, moment)

    def _judge(
        self, taken: Taken, ends: Ints, theirs: Ints, live: Frame, ours: Ints, finished: tuple[Ints, Ints, Ints]
    ) -> tuple[Taken, Ints, Ints]:
        """Bury records that meet a finished session (code, start, end), and those whose session has expired."""
        room = self._room
        if len(finished[0]):
            dead = meets(theirs, taken.bundle.times, ends, finished, touching=self._kind.touching)
            taken, ends, theirs = room.bury(taken, dead, Reason.FINISHED), ends[~dead], theirs[~dead]
        horizon = ends
        merged = room.plan.spec.semantics.late_sessions is LateSessions.MERGED
        if merged and (ends <= room.lateness.expired_by(taken.bundle.watermarks)).any():
            whole = self._cluster(ours, live, theirs, taken.bundle.times, ends)
            horizon = whole.ends[whole.groups.codes[len(live) :]]
        dead = room.lateness.too_late(taken.bundle.times, horizon, taken.bundle.watermarks)
        return room.bury(taken, dead, Reason.EXPIRED), ends[~dead], theirs[~dead]

    def _cluster(self, ours: Ints, live: Frame, theirs: Ints, times: Ints, ends: Ints) -> Clusters:
        return cluster(
            np.concatenate([ours, theirs]),
            np.concatenate([live.state["start"], times]),
            np.concatenate([live.windows, ends]),
            touching=self._kind.touching,
        )
