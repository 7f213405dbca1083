"""Sliding windows that can fire more than once: a pane for each, and the records they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.anchors import Anchors, Held
from fanlight.kernels.fold import Fold, Partials
from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.keys import encode_together
from fanlight.kernels.ranges import ranges
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.kernels.ranges_search import window_rows
from fanlight.kernels.slicing import EVERY_WINDOW
from fanlight.kernels.tuples import same_rows
from fanlight.model.letters import Reason
from fanlight.model.sliding import Anchor, Sliding
from fanlight.model.timestamp import LATEST
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.atoms import AtomLog, Atoms
from fanlight.operators.unaligned.buckets import width_for
from fanlight.operators.unaligned.joining import ByWatermark, Joined, Room, handed_on, tell
from fanlight.operators.unaligned.paired import among
from fanlight.operators.unaligned.sliding_late import too_late


class SlidingWindows(ByWatermark):
    """A record counts in every window that holds it; windows come into being with the records that define them."""

    def __init__(self, room: Room, kind: Sliding) -> None:
        self._room = room
        self._anchors = Anchors.of(kind, room.plan.spec.tick.micros, room.plan.spec.semantics)
        self._log = AtomLog(room.plan, room.store, width_for(kind.difference.micros))

    def retire(self, moment: Moment) -> None:
        """Forget the records of which every window has expired, those too that they only define."""
        through = moment.expired
        self._log.retire(LATEST + 1 if through == EVERY_WINDOW else through - self._anchors.reach)

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Let records join the windows that hold them, and define new ones."""
        room = self._room
        taken = room.bury(taken, self._anchors.homeless(taken.bundle.times), Reason.NO_WINDOW)
        dead = too_late(room.plan, self._anchors, room.lateness, self._log, taken)
        taken = room.bury_each(taken, dead, Reason.EXPIRED)
        if not len(taken):
            return room.nothing(taken)
        first, last = int(taken.bundle.times.min()), int(taken.bundle.times.max())
        live = room.buckets.fetch(first)
        before, brought = self._near(first, last), Atoms.of(room.plan, taken)
        atoms = Atoms.concat([before, brought])
        found, ours, theirs = encode_together(live.keys, len(live), atoms.keys, len(atoms))
        rows = Rows.of(theirs, atoms, len(before))
        held, places = self._affected(rows, live, ours, moment)
        shut = (places >= 0) & live.state["finished"][places] if len(live) else np.zeros(len(places), np.bool_)
        if shut.any():
            orphans = rows.outside(held.where(~shut))
            if orphans.any():
                room.buckets.rest(live)
                return self.join(room.bury_each(taken, orphans, Reason.FINISHED), moment)
            room.accounting.missed_windows += self._shut_out(taken, theirs[len(before) :], held.where(shut))
            held, places = held.where(~shut), places[~shut]
        room.accounting.missed_windows += self._anchors.past_own(taken.bundle.times, moment.expired_before)
        self._log.append(brought)
        known = places >= 0
        olds = live.take(places[known])
        at_rest = np.ones(len(live), np.bool_)
        at_rest[places[known]] = False
        room.buckets.rest(live.where(at_rest))
        room.buckets.change(olds)
        fresh = room.examiner.shape.fresh(held.ends, found.take(held.codes))
        fresh.state["start"] = held.starts
        frame, _ = handed_on(room.plan, room.examiner, fresh, olds, np.flatnonzero(known), moment)
        came, least = rows.brought(room.plan.fold, held, known)
        tell(room, frame, came, least, moment)
        return Joined(taken, frame, np.ones(len(frame), np.bool_))

    def _shut_out(self, taken: Taken, codes: Ints, shut: Held) -> int:
        """How many records have one of these windows for their own."""
        ends = self._anchors.own_ends(taken.bundle.times)
        starts = ends - self._anchors.length
        return int(np.count_nonzero(among((codes, ends, starts), (shut.codes, shut.ends, shut.starts))))

    def _near(self, first: int, last: int) -> Atoms:
        """The records, among others, that share a window with one between `first` and `last`, or define it."""
        return self._log.between(first - self._anchors.reach, last + self._anchors.reach + 1)

    def _affected(self, rows: Rows, live: Frame, ours: Ints, moment: Moment) -> tuple[Held, Ints]:
        """The windows that something came to or that came into being, and the live pane of each, or -1."""
        held = self._anchors.windows(rows.codes, rows.times, moment.expired_before, EVERY_WINDOW)
        affected = rows.seen[held.high] > rows.seen[held.low]
        if self._anchors.anchor is Anchor.BOTH:
            anchor = held.starts - self._anchors.tick
            low, high = window_rows(rows.codes, rows.times, held.codes, anchor, anchor + 1)
            affected |= (low < high) & (rows.seen[high] - rows.seen[low] == high - low)
        held = held.where(affected)
        groups, _ = same_rows(
            np.concatenate([ours, held.codes]),
            np.concatenate([live.windows, held.ends]),
            np.concatenate([live.state["start"], held.starts]),
        )
        panes = np.full(groups.count, -1)
        panes[groups.codes[: len(live)]] = np.arange(len(live))
        places = panes[groups.codes[len(live) :]]
        told = (places < 0) | (rows.seen[held.high] > rows.seen[held.low])
        return held.where(told), places[told]


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of some keys in the order of key and time, those of the bundle among those from before."""

    codes: Ints
    times: Ints
    partials: Partials
    new: Ints
    """Which rows are of the bundle."""
    came: Ints
    """Which record of the bundle each of these is."""
    seen: Ints
    """How many of them stand before each row, and before the end."""

    @staticmethod
    def of(codes: Ints, atoms: Atoms, before: int) -> Rows:
        """Sort rows, of which the first `before` were there before; keys to which nothing came are left out."""
        here = np.zeros(int(codes.max()) + 1, np.bool_)
        here[codes[before:]] = True
        kept = np.flatnonzero(here[codes])
        order, codes, times = sort_by_key_time(codes[kept], atoms.times[kept])
        order = kept[order]
        is_new = order >= before
        new = np.flatnonzero(is_new)
        seen = np.concatenate([[0], np.cumsum(is_new)])
        return Rows(codes, times, atoms.partials.take(order), new, order[new] - before, seen)

    def outside(self, held: Held) -> Bools:
        """Which records of the bundle are in none of these windows."""
        changes = np.zeros(len(self.times) + 1, np.int64)
        np.add.at(changes, held.low, 1)
        np.add.at(changes, held.high, -1)
        outside = np.zeros(len(self.came), np.bool_)
        outside[self.came] = np.cumsum(changes)[self.new] == 0
        return outside

    def brought(self, fold: Fold, held: Held, known: Bools) -> tuple[Partials, Ints]:
        """What each window is told of, and its least time: the new records if it was known, otherwise all it holds."""
        low, high = self.seen[held.low[known]], self.seen[held.high[known]]
        parts = [
            ranges(fold, self.partials.take(self.new), low, high),
            ranges(fold, self.partials, held.low[~known], held.high[~known]),
        ]
        order = np.empty(len(known), np.int64)
        order[np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])] = np.arange(len(known))
        least = np.concatenate([self.times[self.new[low]], self.times[held.low[~known]]])
        return Partials.concat(parts).take(order), least[order]
