"""Records joining panes that each key has for itself: what a kind of window answers for one bundle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.keys import KeyCodes
from fanlight.model.letters import Reason
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.examiner import Examiner, Phase
from fanlight.operators.folded import least_times, wants_times
from fanlight.operators.frame import Frame
from fanlight.operators.lateness import Lateness
from fanlight.operators.panes import Moment
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken, buried, buried_each
from fanlight.operators.trigger import News
from fanlight.operators.unaligned.buckets import Buckets
from fanlight.state.store import ChunkStore

Bringing = Callable[[Groups], tuple[Partials, Ints | None]]
"""Gives what is brought to each group, and the least of the times where the trigger asks for it."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of a bundle: the records that were accepted, the panes they are in now, the panes these replace."""

    taken: Taken | None
    frame: Frame
    touched: Bools
    replaced: Frame | None = None


class Joining(Protocol):
    """One kind of unaligned window on one shard."""

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Judge records and let them join their panes; their triggers have been told."""

    def phase(self, frame: Frame, moment: Moment) -> Phase:
        """Which of these panes' windows are closed and expired."""

    def retire(self, moment: Moment) -> None:
        """Forget what no window can need any more."""


class ByWatermark:
    """What kinds say whose windows follow the watermark and that keep nothing beside their panes."""

    def phase(self, frame: Frame, moment: Moment) -> Phase:
        """Which of these panes' windows are closed and expired."""
        return Phase.of(frame, moment)

    def retire(self, moment: Moment) -> None:
        """There is nothing to forget."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a kind of window works with on one shard."""

    plan: Plan
    store: ChunkStore
    examiner: Examiner
    buckets: Buckets
    lateness: Lateness
    letters: DeadLetters
    accounting: Accounting

    def bury(self, taken: Taken, dead: Bools, reason: Reason) -> Taken:
        """Make dead letters of records; those that are left."""
        return buried(taken, dead, reason, self.letters, self.accounting)

    def bury_each(self, taken: Taken, dead: Bools, reason: Reason) -> Taken:
        """The same where the dead have missed one window each."""
        return buried_each(taken, dead, reason, self.letters, self.accounting)

    def bringing(self, taken: Taken, rows: Ints) -> Bringing:
        """What (record, window) pairs bring; `rows` is the record of each."""

        def brought(groups: Groups) -> tuple[Partials, Ints | None]:
            places, times = pa.array(rows), taken.bundle.times[rows]
            values = [None if column is None else column.take(places) for column in taken.values(self.plan)]
            counted = taken.counted(self.plan)
            counted = None if counted is None else counted[rows]
            least = least_times(times, groups) if wants_times(self.plan.spec) else None
            return self.plan.fold.partial(values, times, groups, counted, taken.arrivals[rows]), least

        return brought

    def nothing(self, taken: Taken | None) -> Joined:
        """No record joined anything."""
        return Joined(taken, self.examiner.shape.none(), np.zeros(0, np.bool_))


def handed_on(
    plan: Plan, examiner: Examiner, fresh: Frame, olds: Frame, owners: Ints, moment: Moment
) -> tuple[Frame, Bools]:
    """The panes of `fresh` with what the old panes hand on, and which old panes have become another one.

    `owners` is the new pane of each old one. A new pane with the bounds of its only old one is that pane.
    """
    if not len(olds):
        return fresh, np.zeros(0, np.bool_)
    groups = Groups(owners, len(fresh))
    closed = fresh.windows <= moment.closed_before
    fresh.state |= examiner.trigger.merged(olds.state, groups, closed)
    np.add.at(fresh.state["pending"], owners, olds.state["pending"])
    held = np.zeros(len(fresh), np.bool_)
    # What waits in a session that is still open came in time, also for the shorter one that a cut makes of it.
    waiting = olds.state["held"] | ((olds.windows > moment.closed_before) & (olds.state["pending"] > 0))
    held[owners[waiting]] = True
    fresh.state["held"] = held & closed
    present, compact = np.unique(owners, return_inverse=True)
    merged = plan.fold.merge(olds.partials, Groups(compact, len(present)))
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
    """Panes and records gathered anew: the new pane of each, and each new pane's key and bounds."""

    owners: Ints
    """The new pane of each live one."""
    came: Ints
    """The new pane of each (record, window) pair, or of each row of what came folded."""
    codes: Ints
    starts: Ints
    ends: Ints

    def of(self, live: Bools) -> Regrouping:
        """The same new panes, with only those of the live ones."""
        return Regrouping(self.owners[live], self.came, self.codes, self.starts, self.ends)


def regroup(
    room: Room,
    live: Frame,
    taken: Taken | None,
    brought: Bringing,
    regrouping: Regrouping,
    found: KeyCodes,
    moment: Moment,
) -> Joined:
    """Let what is brought join panes; `taken` are the records among it. Panes that nothing came to stay as they are."""
    count = len(regrouping.ends)
    touched = np.zeros(count, np.bool_)
    touched[regrouping.came] = True
    number = np.cumsum(touched) - 1
    changing = touched[regrouping.owners]
    olds = live.where(changing)
    room.buckets.rest(live.where(~changing))
    room.buckets.change(olds)
    fresh = room.examiner.shape.fresh(regrouping.ends[touched], found.take(regrouping.codes[touched]))
    fresh.state["start"] = regrouping.starts[touched]
    frame, gone = handed_on(room.plan, room.examiner, fresh, olds, number[regrouping.owners[changing]], moment)
    groups = Groups(number[regrouping.came], len(frame))
    came, least = brought(groups)
    tell(room, frame, came, least, moment)
    return Joined(taken, frame, np.ones(len(frame), np.bool_), olds.where(gone) if gone.any() else None)


def tell(room: Room, frame: Frame, came: Partials, least: Ints | None, moment: Moment) -> None:
    """Add what came to the panes, one row of partials for each, and tell their triggers."""
    frame.partials = room.plan.fold.combine(frame.partials, came)
    frame.state["pending"] += came.rows
    earliest = np.zeros(len(frame), np.int64) if least is None else least
    room.examiner.trigger.told(frame.state, came.rows > 0, News(came.rows, moment.clock, earliest))
