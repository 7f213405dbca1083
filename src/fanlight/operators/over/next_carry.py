"""What is kept of rows that have become complete: those that later frames reach, and the totals of keys."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.over.frames import frame_rows, sessions
from fanlight.model.over.frame import SessionFrame
from fanlight.model.over.functions import LastValue
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.operators.over.carry import ContextRows, KeyTotals, PendingRows
from fanlight.operators.over.evaluate import Release
from fanlight.operators.over.framed import row_of

_NONE = -1


def kept_after(release: Release) -> tuple[PendingRows, ContextRows, KeyTotals]:
    """What the next step needs: rows that still wait, rows that frames reach, and the totals of keys."""
    pending = release.pending.where(~release.passed)
    carry = NextCarry(release)
    return pending, carry.context(pending), carry.totals()


class NextCarry:
    """The carry after the complete rows of a release."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def context(self, pending: PendingRows) -> ContextRows:
        """Of the complete rows and those before them, those that a later row looks at."""
        release = self._release
        plan, rows = release.plan, release.rows
        base = min(release.watermark, int(pending.times.min(initial=END_OF_TIME)))
        if plan.forget is None:  # only times count
            needed = rows.times >= base - plan.time_before
            if plan.looks_back:
                needed |= self._looked_back_at()
            return self._as_context(np.flatnonzero(needed & (~release.waits | release.complete)))
        gone = np.flatnonzero(~release.waits | release.complete)
        newest = np.full(release.keys.count, _NONE)
        newest[rows.codes[gone]] = rows.numbers[gone]
        gone = gone[rows.numbers[gone] == newest[rows.codes[gone]]]  # what is over is never looked at again
        needed = _from_end(rows.codes[gone]) < plan.rows_before
        if plan.looks_back:
            needed |= self._looked_back_at()[gone]
        if plan.time_before:
            needed |= rows.times[gone] >= base - plan.time_before
        for name, count in plan.valued_before.items():
            valid = release.columns[name].is_valid().to_numpy(zero_copy_only=False)[gone]
            places = np.flatnonzero(valid)
            needed[places[_from_end(rows.codes[gone[places]]) < count]] = True
        return self._as_context(gone[needed & ~self._forgotten[rows.codes[gone]]])

    def totals(self) -> KeyTotals:
        """The totals of keys, after the rows that are complete now."""
        release = self._release
        totals = release.totals
        if release.plan.forget is None:
            return totals
        forgotten, last = self._forgotten, self._last
        codes = np.flatnonzero((last >= 0) & ~forgotten)
        at = last[codes]
        fresh = KeyTotals(
            release.rows.times[at],
            release.numbers(at),
            release.ranks(at),
            release.dense(at),
            [key.take(pa.array(codes)) for key in release.keys.keys],
            self._sums(at),
        )
        stays = np.ones(len(totals), np.bool_)
        known = np.flatnonzero(release.total_of >= 0)
        stays[release.total_of[known]] = (last[known] < 0) & ~forgotten[known]
        return KeyTotals.concat([totals.where(stays), fresh])

    def _looked_back_at(self) -> Bools:
        """Which rows are looked at from afar: those of sessions with rows that wait, and those after the totals.

        Where a frame without a start ends before its row, the totals do not have the rows from its end on.
        """
        release = self._release
        rows, needed = release.rows, np.zeros(len(release.rows), np.bool_)
        waiting = np.concatenate([[0], np.cumsum(release.waits & ~release.complete)])
        newest = np.flatnonzero(~release.waits | release.complete)
        newest = newest[_from_end(rows.codes[newest]) == 0]
        for one in release.plan.spec.new_columns:
            if isinstance(one.frame, SessionFrame):
                low, high = sessions(rows, one.frame.gap.micros)
                needed |= waiting[high] > waiting[low]
            elif one.frame.is_unbounded and one.frame.ends_before:
                low, high = frame_rows(one.frame, rows, newest)
                starts, ends = (np.bincount(places, minlength=len(rows) + 1) for places in (high, newest + 1))
                needed |= np.cumsum(starts - ends)[:-1] > 0
                if isinstance(one.function, LastValue):
                    places = row_of(one, one.function, rows, newest, release.columns[one.function.column])
                    needed[places[places >= 0]] = True
        return needed

    def _as_context(self, kept: Ints) -> ContextRows:
        """The rows at these places, with the columns that are looked at."""
        release = self._release
        keys = [key.take(pa.array(release.rows.codes[kept])) for key in release.keys.keys]
        columns = [release.columns[field.name].take(pa.array(kept)) for field in release.plan.context]
        return ContextRows(release.rows.times[kept], keys, columns)

    def _sums(self, at: Ints) -> Partials:
        """The totals of frames without a start, up to and with these rows."""
        release, parts = self._release, []
        for one in release.plan.running:
            high = frame_rows(one.frame, release.rows, at)[1] if one.frame.ends_before else at + 1
            merged = ranges(one.aggregation, release.partials(one), release.beyond_totals(one.frame, at), high)
            parts.append(release.with_totals(one, merged, at))
        counts = parts[0].rows if parts else np.zeros(len(at), np.int64)
        return Partials(counts, None, [columns for part in parts for columns in part.columns])

    @cached_property
    def _last(self) -> Ints:
        """By key code: the place of the newest row that is complete now; -1 if none is."""
        last = np.full(self._release.keys.count, _NONE)
        gone = np.flatnonzero(self._release.complete)
        last[self._release.rows.codes[gone]] = gone
        return last

    @cached_property
    def _forgotten(self) -> Bools:
        """By key code: whether nothing is kept of it any more, because a row to come would start anew."""
        release = self._release
        forget, count = release.plan.forget, release.keys.count
        if forget is None or forget >= END_OF_TIME:
            return np.zeros(count, np.bool_)
        newest = np.full(count, END_OF_TIME)
        known = np.flatnonzero(release.total_of >= 0)
        newest[known] = release.totals.last[release.total_of[known]]
        last = self._last
        newest[last >= 0] = release.rows.times[last[last >= 0]]
        forgotten: Bools = (newest < END_OF_TIME) & (newest < release.watermark - forget)
        waiting = np.flatnonzero(release.waits & ~release.complete)
        forgotten[release.rows.codes[waiting]] = False
        return forgotten


def _from_end(codes: Ints) -> Ints:
    """How many rows of the same key come after each; rows of a key lie side by side."""
    if not len(codes):
        return np.zeros(0, np.int64)
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]), len(codes) - 1)
    sizes = np.diff(np.append(-1, ends))
    return np.repeat(ends, sizes) - np.arange(len(codes))
