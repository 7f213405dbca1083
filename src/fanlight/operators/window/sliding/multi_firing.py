"""Sliding windows that can fire more than once: each has a pane, and the records are stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.aggregates.aggregation import Aggregation, Partials
from fanlight.kernels.grouping.groups import Bools, Ints, encode_together
from fanlight.kernels.grouping.row_identity import same_rows
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.search_key_time import window_rows
from fanlight.kernels.slicing.slicing import EVERY_WINDOW
from fanlight.kernels.sliding_windows import Anchors, WindowRanges
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import LATEST
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.sliding.row_log import LoggedRows, RowLog
from fanlight.operators.window.sliding.too_late import too_late
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import AssignedPanes, ByWatermark, ShardContext, handed_on, notify
from fanlight.operators.window.unaligned.end_buckets import width_for
from fanlight.operators.window.unaligned.record_windows import among


class SlidingWindows(ByWatermark):
    """A record counts in every window that contains it; a new record may define new windows."""

    def __init__(self, context: ShardContext, kind: Sliding) -> None:
        self._context = context
        self._anchors = Anchors.of(kind, context.plan.spec.tick.micros, context.plan.spec.semantics)
        self._log = RowLog(context.plan, context.store, width_for(kind.difference.micros))

    def retire(self, step: StepTime) -> None:
        """Delete records once all their windows have expired: those that contain them and those that they define."""
        through = step.expired
        self._log.retire(LATEST + 1 if through == EVERY_WINDOW else through - self._anchors.reach)

    def assign(self, accepted: Accepted | None, preaggregated: None, step: StepTime) -> AssignedPanes:
        """Assign records to the windows that contain them, and define new windows."""
        return self._context.nothing(None) if accepted is None else self._assign(accepted, step)

    def _assign(self, accepted: Accepted, step: StepTime) -> AssignedPanes:
        context = self._context
        accepted = context.reject(accepted, self._anchors.homeless(accepted.bundle.times), Reason.NO_WINDOW)
        dead = too_late(context.plan, self._anchors, context.lateness, self._log, accepted)
        accepted = context.reject_each(accepted, dead, Reason.EXPIRED)
        if not len(accepted):
            return context.nothing(accepted)
        first, last = int(accepted.bundle.times.min()), int(accepted.bundle.times.max())
        live = context.buckets.fetch(first)
        before, brought = self._near(first, last), LoggedRows.of(context.plan, accepted)
        logged = LoggedRows.concat([before, brought])
        found, ours, theirs = encode_together(live.keys, len(live), logged.keys, len(logged))
        rows = Rows.of(theirs, logged, len(before))
        held, places = self._affected(rows, live, ours, step)
        shut = (places >= 0) & live.state["finished"][places] if len(live) else np.zeros(len(places), np.bool_)
        if shut.any():
            orphans = rows.outside(held.where(~shut))
            if orphans.any():
                context.buckets.rest(live)
                return self._assign(context.reject_each(accepted, orphans, Reason.FINISHED), step)
            context.books.miss(self._shut_out(accepted, theirs[len(before) :], held.where(shut)))
            held, places = held.where(~shut), places[~shut]
        context.books.miss(self._anchors.past_own(accepted.bundle.times, step.expired_before))
        self._log.append(brought)
        known = places >= 0
        olds = live.take(places[known])
        at_rest = np.ones(len(live), np.bool_)
        at_rest[places[known]] = False
        context.buckets.rest(live.where(at_rest))
        context.buckets.change(olds)
        fresh = context.evaluator.shape.fresh(held.ends, found.take(held.codes))
        fresh.state["start"] = held.starts
        table, _ = handed_on(context.plan, context.evaluator, fresh, olds, np.flatnonzero(known), step)
        came, least = rows.brought(context.plan.aggregation, held, known)
        notify(context, table, came, least, step)
        return AssignedPanes(accepted, table, np.ones(len(table), np.bool_))

    def _shut_out(self, accepted: Accepted, codes: Ints, shut: WindowRanges) -> int:
        """How many records have one of these windows as their own."""
        ends = self._anchors.own_ends(accepted.bundle.times)
        starts = ends - self._anchors.length
        return int(np.count_nonzero(among((codes, ends, starts), (shut.codes, shut.ends, shut.starts))))

    def _near(self, first: int, last: int) -> LoggedRows:
        """At least the records that share a window with one between `first` and `last`, or define such a window."""
        return self._log.between(first - self._anchors.reach, last + self._anchors.reach + 1)

    def _affected(self, rows: Rows, live: PaneTable, ours: Ints, step: StepTime) -> tuple[WindowRanges, Ints]:
        """The windows that are new or got a record, and the live pane of each, or -1."""
        held = self._anchors.windows(rows.codes, rows.times, step.expired_before, EVERY_WINDOW)
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
    """Records of some keys, sorted by key and time: stored records and those of the bundle."""

    codes: Ints
    times: Ints
    partials: Partials
    new: Ints
    """The rows that are records of the bundle."""
    came: Ints
    """The place in the bundle of each of these."""
    seen: Ints
    """How many of them come before each row, and before the end."""

    @staticmethod
    def of(codes: Ints, logged: LoggedRows, before: int) -> Rows:
        """Sort rows, the first `before` of which are stored records; keys without new records are left out."""
        here = np.zeros(int(codes.max()) + 1, np.bool_)
        here[codes[before:]] = True
        kept = np.flatnonzero(here[codes])
        order, codes, times = sort_by_key_time(codes[kept], logged.times[kept])
        order = kept[order]
        is_new = order >= before
        new = np.flatnonzero(is_new)
        seen = np.concatenate([[0], np.cumsum(is_new)])
        return Rows(codes, times, logged.partials.take(order), new, order[new] - before, seen)

    def outside(self, held: WindowRanges) -> Bools:
        """Which records of the bundle are in none of these windows."""
        changes = np.zeros(len(self.times) + 1, np.int64)
        np.add.at(changes, held.low, 1)
        np.add.at(changes, held.high, -1)
        outside = np.zeros(len(self.came), np.bool_)
        outside[self.came] = np.cumsum(changes)[self.new] == 0
        return outside

    def brought(self, aggregation: Aggregation, held: WindowRanges, known: Bools) -> tuple[Partials, Ints]:
        """The partials and least time of each window: of new records if it was known, else of all its records."""
        low, high = self.seen[held.low[known]], self.seen[held.high[known]]
        parts = [
            ranges(aggregation, self.partials.take(self.new), low, high),
            ranges(aggregation, self.partials, held.low[~known], held.high[~known]),
        ]
        order = np.empty(len(known), np.int64)
        order[np.concatenate([np.flatnonzero(known), np.flatnonzero(~known)])] = np.arange(len(known))
        least = np.concatenate([self.times[self.new[low]], self.times[held.low[~known]]])
        return Partials.concat(parts).take(order), least[order]
