"""Sessions with limits besides the gap: panes keep their records, because sessions may be cut again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.aggregates.inputs import input_type
from fanlight.kernels.aggregates.lists import by_groups, taken_apart
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, encode_together, least_times
from fanlight.kernels.sessions.cluster import cluster, meets
from fanlight.kernels.sessions.cut import Limits, cut
from fanlight.kernels.slicing.slicing import NO_WINDOW
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.semantics import LateSessions
from fanlight.model.windows.session import Session
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.trigger import News
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.gaps import ends_of
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import AssignedPanes, ByWatermark, ShardContext, handed_on

_OWN = (
    pa.field("time", pa.int64()),
    pa.field("until", pa.int64()),
    pa.field("arrival", pa.int64()),
    pa.field("ending", pa.bool_()),
    pa.field("counted", pa.bool_()),
)


class LimitedSessions(ByWatermark):
    """Sessions that are cut by limits: a late record can move every later cut."""

    def __init__(self, context: ShardContext, kind: Session) -> None:
        self._context = context
        self._kind = kind
        duration = None if kind.max_duration is None else kind.max_duration.micros
        self._limits = Limits(duration, kind.max_count)

    def assign(self, accepted: Accepted | None, preaggregated: None, step: StepTime) -> AssignedPanes:
        """Let records create, extend and merge sessions, then cut the sessions."""
        context = self._context
        if accepted is None:
            return context.nothing(None)
        untils, homeless = ends_of(context.plan, self._kind, accepted.bundle.batch, accepted.bundle.times)
        accepted, untils = context.reject(accepted, homeless, Reason.NO_WINDOW), untils[~homeless]
        live = context.buckets.fetch(NO_WINDOW)
        found, ours, theirs = encode_together(live.keys, len(live), accepted.keys(context.plan), len(accepted))
        here = np.zeros(found.count, np.bool_)
        here[theirs] = True
        finished = live.state["finished"]
        if finished.any():
            over = (ours[finished], live.state["start"][finished], live.windows[finished])
            dead = meets(theirs, accepted.bundle.times, untils, over, touching=self._kind.touching)
            accepted, untils, theirs = (
                context.reject_each(accepted, dead, Reason.FINISHED),
                untils[~dead],
                theirs[~dead],
            )
        involved = here[ours] & ~finished
        context.buckets.rest(live.where(~involved))
        live, ours = live.where(involved), ours[involved]
        before = Kept.of_panes(live, ours)
        brought = Kept.of_bundle(context.plan, self._kind, accepted, untils, theirs)
        dead = self._expired(before, brought, accepted)
        accepted, brought = context.reject_each(accepted, dead, Reason.EXPIRED), brought.where(~dead)
        if not len(accepted):
            context.buckets.rest(live)
            return context.nothing(accepted)
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
        context.buckets.rest(live.where(~changing))
        olds = live.where(changing)
        context.buckets.change(olds)
        number = np.cumsum(touched) - 1
        fresh = context.evaluator.shape.fresh(sessions.ends[touched], found.take(sessions.codes[touched]))
        fresh.state["start"] = sessions.starts[touched]
        whole &= got[owners]  # a session that only became shorter is notified of all its records, so that it may fire
        heirs = whole[changing]
        table, gone = handed_on(
            context.plan, context.evaluator, fresh, olds.where(heirs), number[owners[changing][heirs]], step
        )
        held = touched[sessions.groups.codes]
        kept, groups = rows.where(held), Groups(number[sessions.groups.codes[held]], len(table))
        from_heirs = np.concatenate([whole[before.panes], np.zeros(len(brought), np.bool_)])[held]
        self._fill(table, kept, groups, ~from_heirs, step)
        replaced = np.ones(len(olds), np.bool_)
        replaced[np.flatnonzero(heirs)[~gone]] = False
        return AssignedPanes(
            accepted, table, np.ones(len(table), np.bool_), olds.where(replaced) if replaced.any() else None
        )

    def _expired(self, before: Kept, brought: Kept, accepted: Accepted) -> Bools:
        """Which records are too late for their session, before it is cut."""
        lateness, horizon = self._context.lateness, brought.untils
        merged = self._context.plan.spec.semantics.late_sessions is LateSessions.MERGED
        if merged and (horizon <= lateness.expired_by(accepted.bundle.watermarks)).any():
            rows = Kept.concat([before, brought])
            whole = cluster(rows.codes, rows.times, rows.untils, touching=self._kind.touching)
            horizon = whole.ends[whole.groups.codes[len(before) :]]
        return lateness.too_late(brought.times, horizon, accepted.bundle.watermarks)

    def _sessions(self, rows: Kept) -> CutSessions:
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
        tick = self._context.plan.spec.tick.micros
        ends = np.where(shortened, last + tick, np.maximum.reduceat(rows.untils[order], starts))
        return CutSessions(Groups(groups, len(starts)), rows.codes[order[starts]], times[starts], ends)

    def _fill(self, table: PaneTable, rows: Kept, groups: Groups, told: Bools, step: StepTime) -> None:
        """Give the panes all their records, and notify their triggers of the new ones."""
        context = self._context
        handed = table.partials.stamp  # of pending records, if only these count for a firing's time
        table.partials = rows.preaggregated(context.plan, groups, told)
        if context.plan.spec.semantics.holds and handed is not None:
            table.partials = replace(
                table.partials, stamp=context.plan.aggregation.stamped_by(handed, table.partials.stamp)
            )
        table.kept = [by_groups(rows.records, groups)]
        counts = np.bincount(groups.codes[told], minlength=groups.count).astype(np.int64, copy=False)
        least = least_times(rows.times[told], groups.where(told))
        table.state["pending"] += counts
        context.evaluator.trigger.told(table.state, counts > 0, News(counts, step.clock, least))


@dataclass(frozen=True, slots=True)
class CutSessions:
    """Sessions after cutting: the session of each record, and the key and bounds of each session."""

    groups: Groups
    codes: Ints
    starts: Ints
    ends: Ints


@dataclass(frozen=True, slots=True)
class Kept(Columnar):
    """Records as stored in panes, with their key codes and the panes they come from."""

    records: pa.Array
    codes: Ints
    panes: Ints

    @staticmethod
    def kind(plan: Plan) -> pa.DataType:
        """The type of a stored record: what sessions need of it, and the inputs of the aggregates."""
        values = [input_type(columns, plan.schema) or pa.bool_() for _, columns in plan.incremental]
        return pa.struct([*_OWN, *(pa.field(f"v.{i}", value) for i, value in enumerate(values))])

    @staticmethod
    def of_panes(table: PaneTable, codes: Ints) -> Kept:
        """The records of panes."""
        records, groups = taken_apart(table.kept[0])
        return Kept(records, codes[groups.codes], groups.codes)

    @staticmethod
    def of_bundle(plan: Plan, kind: Session, accepted: Accepted, untils: Ints, codes: Ints) -> Kept:
        """The records of a bundle."""
        counted = accepted.counted(plan)
        own = [
            pa.array(accepted.bundle.times),
            pa.array(untils),
            pa.array(accepted.arrivals),
            pa.array(_endings(kind, accepted)),
            pa.array(np.ones(len(accepted), np.bool_) if counted is None else counted),
        ]
        values = [pa.nulls(len(accepted), pa.bool_()) if column is None else column for column in accepted.values(plan)]
        records = pa.StructArray.from_arrays([*own, *values], fields=list(Kept.kind(plan)))
        return Kept(records, codes, np.full(len(accepted), -1))

    @property
    def times(self) -> Ints:
        """The time of each record."""
        return self._numbers("time")

    @property
    def untils(self) -> Ints:
        """The end of each record's interval."""
        return self._numbers("until")

    @property
    def ending(self) -> Bools:
        """Which records end their session."""
        ending: Bools = self.records.field("ending").to_numpy(zero_copy_only=False)
        return ending

    def preaggregated(self, plan: Plan, groups: Groups, told: Bools) -> Partials:
        """The partials of each group; `told` marks the records that are new to their group."""
        values = [
            self.records.field(len(_OWN) + i) if columns else None for i, (_, columns) in enumerate(plan.incremental)
        ]
        counted = None
        if plan.spec.semantics.holds:
            counted = self.records.field("counted").to_numpy(zero_copy_only=False) & told
        return plan.aggregation.partial(values, self.times, groups, counted, self._numbers("arrival"))

    def _numbers(self, name: str) -> Ints:
        numbers: Ints = self.records.field(name).to_numpy(zero_copy_only=False)
        return numbers


def _endings(kind: Session, accepted: Accepted) -> Bools:
    """Which records end their session; null does not."""
    if kind.ends_on is None:
        return np.zeros(len(accepted), np.bool_)
    column = plain(accepted.bundle.batch.column(kind.ends_on))
    if not pa.types.is_boolean(column.type):
        raise InputError(
            f"session: `ends_on` {kind.ends_on!r} is {column.type}, which is neither true nor false. "
            "Make it a bool first, by a comparison such as `event = 'logout'`."
        )
    endings: Bools = column.fill_null(False).to_numpy(zero_copy_only=False)
    return endings


def _owners(sessions: Ints, panes: Ints, count: int) -> tuple[Ints, Bools]:
    """For each of `count` panes: the session that its first record is in now, and whether all its records are in it."""
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, -1)
    np.minimum.at(first, panes, sessions)
    np.maximum.at(last, panes, sessions)
    return np.maximum(last, 0), first == last
