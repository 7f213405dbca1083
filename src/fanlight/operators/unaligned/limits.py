"""Sessions that more than silence ends: their panes keep their records, so that they can be cut anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.cutting import Limits, cut
from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.intervals import cluster, meets
from fanlight.kernels.keys import encode_together
from fanlight.kernels.ranges_order import sort_by_key_time
from fanlight.kernels.reducers.inputs import input_type
from fanlight.kernels.reducers.lists import by_groups, taken_apart
from fanlight.kernels.slicing import NO_WINDOW
from fanlight.model.letters import Reason
from fanlight.model.semantics import LateSessions
from fanlight.model.sessions import Session
from fanlight.operators.folded import least_times
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.plan import Plan, plain
from fanlight.operators.taken import Taken
from fanlight.operators.trigger import News
from fanlight.operators.unaligned.gaps import ends_of
from fanlight.operators.unaligned.joining import ByWatermark, Joined, Room, handed_on

_OWN = (
    pa.field("time", pa.int64()),
    pa.field("until", pa.int64()),
    pa.field("arrival", pa.int64()),
    pa.field("ending", pa.bool_()),
    pa.field("counted", pa.bool_()),
)


class LimitedSessions(ByWatermark):
    """Sessions that are cut: a record that comes late can move every cut after it."""

    def __init__(self, room: Room, kind: Session) -> None:
        self._room = room
        self._kind = kind
        duration = None if kind.max_duration is None else kind.max_duration.micros
        self._limits = Limits(duration, kind.max_count)

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Let records make, lengthen and bridge sessions, and cut what comes of it."""
        room = self._room
        untils, homeless = ends_of(room.plan, self._kind, taken.bundle.batch, taken.bundle.times)
        taken, untils = room.bury(taken, homeless, Reason.NO_WINDOW), untils[~homeless]
        live = room.buckets.fetch(NO_WINDOW)
        found, ours, theirs = encode_together(live.keys, len(live), taken.keys(room.plan), len(taken))
        here = np.zeros(found.count, np.bool_)
        here[theirs] = True
        finished = live.state["finished"]
        if finished.any():
            over = (ours[finished], live.state["start"][finished], live.windows[finished])
            dead = meets(theirs, taken.bundle.times, untils, over, touching=self._kind.touching)
            taken, untils, theirs = room.bury_each(taken, dead, Reason.FINISHED), untils[~dead], theirs[~dead]
        involved = here[ours] & ~finished
        room.buckets.rest(live.where(~involved))
        live, ours = live.where(involved), ours[involved]
        before = Kept.of_panes(live, ours)
        brought = Kept.of_bundle(room.plan, self._kind, taken, untils, theirs)
        dead = self._expired(before, brought, taken)
        taken, brought = room.bury_each(taken, dead, Reason.EXPIRED), brought.where(~dead)
        if not len(taken):
            room.buckets.rest(live)
            return room.nothing(taken)
        rows = Kept.concat([before, brought])
        sessions = self._sessions(rows)
        got = np.zeros(len(sessions.ends), np.bool_)
        got[sessions.groups.codes[len(before) :]] = True
        touched = got.copy()
        owners, whole = _owners(sessions.groups.codes[: len(before)], before.panes, len(live))
        moved = ~whole | touched[owners] | (live.windows != sessions.ends[owners])
        moved |= live.state["start"] != sessions.starts[owners]
        touched[np.unique(sessions.groups.codes[: len(before)][moved[before.panes]])] = True
        changing = touched[owners] | ~whole
        room.buckets.rest(live.where(~changing))
        olds = live.where(changing)
        room.buckets.change(olds)
        number = np.cumsum(touched) - 1
        fresh = room.examiner.shape.fresh(sessions.ends[touched], found.take(sessions.codes[touched]))
        fresh.state["start"] = sessions.starts[touched]
        whole &= got[owners]  # a session that only became shorter is told of all it holds, so that it is shown again
        heirs = whole[changing]
        frame, gone = handed_on(
            room.plan, room.examiner, fresh, olds.where(heirs), number[owners[changing][heirs]], moment
        )
        held = touched[sessions.groups.codes]
        kept, groups = rows.where(held), Groups(number[sessions.groups.codes[held]], len(frame))
        from_heirs = np.concatenate([whole[before.panes], np.zeros(len(brought), np.bool_)])[held]
        self._fill(frame, kept, groups, ~from_heirs, moment)
        replaced = np.ones(len(olds), np.bool_)
        replaced[np.flatnonzero(heirs)[~gone]] = False
        return Joined(taken, frame, np.ones(len(frame), np.bool_), olds.where(replaced) if replaced.any() else None)

    def _expired(self, before: Kept, brought: Kept, taken: Taken) -> Bools:
        """Which records are too late for the session, not yet cut, that they would be in."""
        lateness, horizon = self._room.lateness, brought.untils
        merged = self._room.plan.spec.semantics.late_sessions is LateSessions.MERGED
        if merged and (horizon <= lateness.expired_by(taken.bundle.watermarks)).any():
            rows = Kept.concat([before, brought])
            whole = cluster(rows.codes, rows.times, rows.untils, touching=self._kind.touching)
            horizon = whole.ends[whole.groups.codes[len(before) :]]
        return lateness.too_late(brought.times, horizon, taken.bundle.watermarks)

    def _sessions(self, rows: Kept) -> Sessions:
        """Join the records' intervals, then cut."""
        whole = cluster(rows.codes, rows.times, rows.untils, touching=self._kind.touching)
        order, clusters, times = sort_by_key_time(whole.groups.codes, rows.times)
        starts, shortened = cut(clusters, times, rows.ending[order], self._limits)
        number = np.zeros(len(order), np.int64)
        number[starts] = 1
        number = np.cumsum(number) - 1
        groups = np.empty(len(order), np.int64)
        groups[order] = number
        last = times[np.append(starts[1:], len(order)) - 1]
        tick = self._room.plan.spec.tick.micros
        ends = np.where(shortened, last + tick, np.maximum.reduceat(rows.untils[order], starts))
        return Sessions(Groups(groups, len(starts)), rows.codes[order[starts]], times[starts], ends)

    def _fill(self, frame: Frame, rows: Kept, groups: Groups, told: Bools, moment: Moment) -> None:
        """Give the panes all their records, and tell their triggers of those that are new to them."""
        room = self._room
        handed = frame.partials.stamp  # of what is pending, where a firing's time looks only at that
        frame.partials = rows.folded(room.plan, groups, told)
        if room.plan.spec.semantics.holds and handed is not None:
            frame.partials = replace(frame.partials, stamp=room.plan.fold.stamped_by(handed, frame.partials.stamp))
        frame.kept = [by_groups(rows.records, groups)]
        counts = np.bincount(groups.codes[told], minlength=groups.count).astype(np.int64, copy=False)
        least = least_times(rows.times[told], groups.where(told))
        frame.state["pending"] += counts
        room.examiner.trigger.told(frame.state, counts > 0, News(counts, moment.clock, least))


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions as they are after cutting: which one each record is in, and the key and bounds of each."""

    groups: Groups
    codes: Ints
    starts: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class Kept:
    """Records as panes keep them, with the codes of their keys and the panes they come from."""

    records: pa.Array
    codes: Ints
    panes: Ints

    @staticmethod
    def kind(plan: Plan) -> pa.DataType:
        """The type of one record: what is asked of it, and the values of the aggregates."""
        values = [input_type(columns, plan.schema) or pa.bool_() for _, columns in plan.folded]
        return pa.struct([*_OWN, *(pa.field(f"v.{i}", value) for i, value in enumerate(values))])

    @staticmethod
    def of_panes(frame: Frame, codes: Ints) -> Kept:
        """The records of panes."""
        records, groups = taken_apart(frame.kept[0])
        return Kept(records, codes[groups.codes], groups.codes)

    @staticmethod
    def of_bundle(plan: Plan, kind: Session, taken: Taken, untils: Ints, codes: Ints) -> Kept:
        """The records of a bundle."""
        counted = taken.counted(plan)
        own = [
            pa.array(taken.bundle.times),
            pa.array(untils),
            pa.array(taken.arrivals),
            pa.array(_endings(kind, taken)),
            pa.array(np.ones(len(taken), np.bool_) if counted is None else counted),
        ]
        values = [pa.nulls(len(taken), pa.bool_()) if column is None else column for column in taken.values(plan)]
        records = pa.StructArray.from_arrays([*own, *values], fields=list(Kept.kind(plan)))
        return Kept(records, codes, np.full(len(taken), -1))

    @staticmethod
    def concat(parts: list[Kept]) -> Kept:
        """The records of several, one after the other."""
        return Kept(
            pa.concat_arrays([part.records for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.panes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def times(self) -> Ints:
        """When each record was."""
        return self._numbers("time")

    @property
    def untils(self) -> Ints:
        """Where each record's interval ends."""
        return self._numbers("until")

    @property
    def ending(self) -> Bools:
        """Which records end their session."""
        ending: Bools = self.records.field("ending").to_numpy(zero_copy_only=False)
        return ending

    def where(self, mask: Bools) -> Kept:
        """The records that `mask` keeps."""
        return Kept(self.records.filter(pa.array(mask)), self.codes[mask], self.panes[mask])

    def folded(self, plan: Plan, groups: Groups, told: Bools) -> Partials:
        """The partials of each group; `told` says which records are new to theirs."""
        values = [self.records.field(len(_OWN) + i) if columns else None for i, (_, columns) in enumerate(plan.folded)]
        counted = None
        if plan.spec.semantics.holds:
            counted = self.records.field("counted").to_numpy(zero_copy_only=False) & told
        return plan.fold.partial(values, self.times, groups, counted, self._numbers("arrival"))

    def _numbers(self, name: str) -> Ints:
        numbers: Ints = self.records.field(name).to_numpy(zero_copy_only=False)
        return numbers


def _endings(kind: Session, taken: Taken) -> Bools:
    """Which records end their session; null does not."""
    if kind.ends_on is None:
        return np.zeros(len(taken), np.bool_)
    column = plain(taken.bundle.batch.column(kind.ends_on))
    if not pa.types.is_boolean(column.type):
        raise InputError(
            f"session: `ends_on` {kind.ends_on!r} is {column.type}, which is neither true nor false. "
            "Make it a bool first, by a comparison such as `event = 'logout'`."
        )
    endings: Bools = column.fill_null(False).to_numpy(zero_copy_only=False)
    return endings


def _owners(sessions: Ints, panes: Ints, count: int) -> tuple[Ints, Bools]:
    """The session that the first record of each of `count` panes is in now, and whether all its records are."""
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, -1)
    np.minimum.at(first, panes, sessions)
    np.maximum.at(last, panes, sessions)
    return np.maximum(last, 0), first == last
