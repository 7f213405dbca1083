"""One release of `over`: which rows are complete, the values of their new columns, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, encode_loosely
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.over.frames import frame_rows, sessions
from fanlight.kernels.over.peers import differs_from_before
from fanlight.kernels.over.row_at import ValuedRows, row_after, taken_from
from fanlight.kernels.over.stretches import EarlierRows, Stretches
from fanlight.model.over.frame import Frame, SessionFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    DenseRank,
    LastValue,
    Lead,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed, within
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.over.carry import ContextRows, KeyTotals, PendingRows
from fanlight.operators.over.framed import Misfits, frame_values, merged_frames, row_of
from fanlight.operators.over.plan import FrameAggregates, OverPlan, Values

_NONE = -1


@dataclass
class Release:
    """The rows of a step side by side: those that left before, then those that wait, key by key.

    place      0  1  2  3  4  5         key a: two rows of the context, two that wait; key b: two that wait
    key        a  a  a  a  b  b
    waits            ●  ●  ●  ●
    complete         ●     ●            a prefix of what waits of each key
    """

    plan: OverPlan
    context: ContextRows
    pending: PendingRows
    totals: KeyTotals
    watermark: Timestamp
    ends: bool

    def __post_init__(self) -> None:
        self.batch = pa.RecordBatch.from_arrays(self.pending.columns, schema=self.plan.schema)
        own = self.plan.keys_of(self.batch)
        keys = [pa.concat_arrays(three) for three in zip(self.totals.keys, self.context.keys, own, strict=True)]
        known, kept = len(self.totals), len(self.context)
        found = encode_loosely(keys, known + kept + len(self.pending))
        codes = found.codes.astype(np.int64, copy=False)
        self.keys = found
        self.total_of = np.full(found.count, _NONE)
        """By key code: the row of its totals."""
        self.total_of[codes[:known]] = np.arange(known)
        times = np.concatenate([self.context.times, self.pending.times])
        self.continues = self._continuing(codes[known + kept :])
        earlier = EarlierRows(kept, self.continues)
        self.rows = Stretches.of(codes[known:], times, self.plan.forget, earlier)
        self.waits = self.rows.order >= kept
        self.complete = self._completed()
        self._made: dict[Frame, Partials] = {}
        self.at = np.flatnonzero(self.complete)
        """The places of the complete rows."""

    @cached_property
    def columns(self) -> Values:
        """The columns that frames and functions look at, of all rows side by side."""
        waiting = self.plan.columns_of(self.batch)
        order = pa.array(self.rows.order)
        return {
            name: pa.concat_arrays([kept, own]).take(order)
            for (name, own), kept in zip(waiting.items(), self.context.columns, strict=True)
        }

    @cached_property
    def _leaves(self) -> Bools:
        """Which of the rows that wait leave."""
        leaves = np.zeros(len(self.pending), np.bool_)
        leaves[self.rows.order[self.at] - len(self.context)] = True
        return leaves

    @cached_property
    def leaving(self) -> Ints:
        """The complete rows as places among those that wait, in the order in which they leave."""
        return np.flatnonzero(self._leaves)

    def values(self) -> tuple[list[pa.Array], dict[int, dict[str, Any]]]:
        """The new columns of the rows that leave, in their order; and what does not fit its type, by row and name."""
        found: dict[int, pa.Array] = {}
        outside: dict[int, dict[str, Any]] = {}
        for one in (*self.plan.aggregates, *self.plan.running):
            values, misfits = self._aggregated(one)
            found |= dict(zip(one.places, values, strict=True))
            for place, each in zip(one.places, misfits, strict=True):
                for row, text in each.items():
                    outside.setdefault(row, {})[self.plan.spec.new_columns[place].name] = text
        for place, computed in enumerate(self.plan.spec.new_columns):
            if isinstance(computed.function, RowFunction):
                found[place] = self._function(computed, computed.function)
        row_of = (np.cumsum(self._leaves) - 1)[self.rows.order[self.at] - len(self.context)]
        back = np.empty(len(row_of), np.int64)
        back[row_of] = np.arange(len(row_of))
        taken = pa.array(back)
        columns = [found[place].take(taken) for place in range(len(found))]
        return columns, {int(row_of[row]): told for row, told in outside.items()}

    def kept(self) -> tuple[PendingRows, ContextRows, KeyTotals]:
        """What the next step needs: rows that still wait, rows that frames reach, and the totals of keys."""
        pending = self.pending.where(~self._leaves)
        return pending, self._next_context(pending), self._next_totals()

    def _continuing(self, codes: Ints) -> Bools:
        """By key code: whether the first row that waits is near enough to the newest that left."""
        count, forget = self.keys.count, self.plan.forget
        if forget is None:
            return np.ones(count, np.bool_)
        first = np.full(count, END_OF_TIME)
        first[codes[::-1]] = self.pending.times[::-1]  # of several, NumPy keeps the last: that is the first here
        known = np.flatnonzero(self.total_of >= 0)
        near = np.zeros(count, np.bool_)
        last = self.totals.last[self.total_of[known]]
        near[known] = (first[known] < END_OF_TIME) & (first[known] - last <= forget)
        return near

    @cached_property
    def first(self) -> Ints:
        """For each row: the first row of its stretch that waits, or that would if there were one."""
        released: Ints = np.concatenate([[0], np.cumsum(~self.waits)])
        first: Ints = self.rows.starts + released[self.rows.ends] - released[self.rows.starts]
        return first

    def _completed(self) -> Bools:
        """Which rows that wait are complete."""
        if self.ends or self.watermark == END_OF_TIME:
            return self.waits
        complete: Bools = self.waits & (self.rows.times < self.watermark - self.plan.spec.time_after)
        if not self.plan.spec.waits_for_rows:
            return complete
        is_over, at = self._is_over(), np.arange(len(self.rows))
        for one in self.plan.spec.new_columns:
            complete &= self._sees_enough(one, at) | is_over
        return complete

    def _is_over(self) -> Bools:
        """Whether no row can come any more that is of the stretch of each row."""
        rows, forget = self.rows, self.plan.forget
        if forget is None:
            return np.zeros(len(rows), np.bool_)
        is_over = np.ones(len(rows), np.bool_)
        last = rows.ends - 1
        of_key = np.append(rows.codes[1:] != rows.codes[:-1], True)
        newest = of_key[last]  # the stretch is the key's newest: more of it may come
        is_over[newest] = rows.times[last[newest]] + forget < self.watermark if forget < END_OF_TIME else False
        return is_over

    def _sees_enough(self, one: Computed, at: Ints) -> Bools:
        """Whether the rows after each row that a new column looks at are all there."""
        rows = self.rows
        enough: Bools = at + one.frame.rows_after < rows.ends
        if isinstance(one.frame, SessionFrame):
            last = sessions(rows, one.frame.gap.micros)[1] - 1
            enough &= rows.times[last] <= self.watermark - one.frame.gap.micros
        if isinstance(one.function, Lead):
            valued = ValuedRows.of(self.columns[one.function.column], ignore_nulls=one.function.ignore_nulls)
            found = row_after(at, one.function.offset, rows.ends, valued) >= 0
            most = within(one.function)
            enough &= found if most is None else found | (rows.times < self.watermark - most)
        return enough

    def _aggregated(self, one: FrameAggregates) -> tuple[list[pa.Array], Misfits]:
        """The aggregates of the frames of the complete rows."""
        at, partials = self.at, self._partials(one)
        low, high = frame_rows(one.frame, self.rows, at)
        if not one.frame.is_unbounded:
            return frame_values(one, partials, at, low, high)
        low = np.maximum(low, self._beyond_totals(one.frame, at))
        merged = self._with_totals(one, merged_frames(one, partials, at, low, high), at)
        return one.aggregation.finish(merged), one.aggregation.outside(merged)

    def _beyond_totals(self, frame: Frame, at: Ints) -> Ints:
        """For each row: the first row of its stretch that the totals of a frame without a start do not have.

        Totals have what the frame of the newest row that left has, and that row too unless the frame ends before it.
        """
        if not frame.ends_before:
            return self.first[at]
        newest = np.maximum(self.first[at] - 1, 0)
        return np.where(self._carried(at) >= 0, frame_rows(frame, self.rows, newest)[1], self.rows.starts[at])

    def _partials(self, one: FrameAggregates) -> Partials:
        """The partial of each row by itself."""
        if one.frame not in self._made:
            alone = Groups.alone(len(self.rows))
            values, times = one.values(self.columns), self.rows.times
            self._made[one.frame] = one.aggregation.partial(values, times, alone, None, self.rows.order)
        return self._made[one.frame]

    def _with_totals(self, one: FrameAggregates, merged: Partials, at: Ints) -> Partials:
        """Partials after those of the rows of their stretch that have left."""
        carried = self._carried(at)
        if not (carried >= 0).any():
            return merged
        before = Partials.concat([self._own(one, self.totals.partials), one.aggregation.identity(1)])
        return one.aggregation.combine(before.take(np.where(carried < 0, len(self.totals), carried)), merged)

    def _own(self, one: FrameAggregates, totals: Partials) -> Partials:
        """The columns of one frame's aggregates among those of all frames without a start."""
        start = 0
        for other in self.plan.running:
            if other is one:
                break
            start += len(other.aggregation.reducers)
        return Partials(totals.rows, None, totals.columns[start : start + len(one.aggregation.reducers)])

    def _carried(self, at: Ints) -> Ints:
        """The totals that the stretch of each row goes on from; -1 where it starts with rows that wait."""
        codes = self.rows.codes[at]
        total = self.total_of[codes]
        goes_on = self.continues[codes] & (self.rows.numbers[at] == self._first_stretches[codes]) & (total >= 0)
        return np.where(goes_on, total, _NONE)

    @cached_property
    def _first_stretches(self) -> Ints:
        """By key code: the first stretch with rows that wait; only that one can go on from what has left."""
        firsts = np.full(self.keys.count, _NONE)
        waiting = np.flatnonzero(self.waits)[::-1]  # of several, NumPy keeps the last: that is the first here
        firsts[self.rows.codes[waiting]] = self.rows.numbers[waiting]
        return firsts

    def _function(self, computed: Computed, function: RowFunction) -> pa.Array:
        """One value of a row function for each complete row."""
        match function:
            case RowNumber():
                return pa.array(self._numbers(self.at))
            case Rank():
                return pa.array(self._ranks(self.at))
            case DenseRank():
                return pa.array(self._dense(self.at))
            case ColumnFunction(column=column):
                values = self.columns[column]
                return taken_from(values, row_of(computed, function, self.rows, self.at, values))
        raise TypeError(f"{function!r} is no function of rows.")

    def _numbers(self, at: Ints) -> Ints:
        """The place of each row in its stretch, from 1."""
        return at - self.first[at] + 1 + self._from_totals(self.totals.numbers, at)

    def _ranks(self, at: Ints) -> Ints:
        heads = np.maximum.accumulate(np.where(self._is_head, np.arange(len(self.rows)), 0))[at]
        own = self._numbers(heads)
        return np.where(self.waits[heads], own, self._from_totals(self.totals.ranks, at))

    def _dense(self, at: Ints) -> Ints:
        waiting_heads = np.concatenate([[0], np.cumsum(self._is_head & self.waits)])
        own: Ints = waiting_heads[at + 1] - waiting_heads[self.first[at]]
        return own + self._from_totals(self.totals.dense, at)

    def _from_totals(self, numbers: Ints, at: Ints) -> Ints:
        carried = self._carried(at)
        return np.append(numbers, 0)[carried]  # the last is of rows that go on from nothing

    @cached_property
    def _is_head(self) -> Bools:
        """Which rows are the first of their time."""
        return differs_from_before([self.rows.numbers, self.rows.times])

    def _next_context(self, pending: PendingRows) -> ContextRows:
        """Of the rows that have left, those that a later row looks at."""
        plan, rows = self.plan, self.rows
        gone = np.flatnonzero(~self.waits | self.complete)
        base = min(self.watermark, int(pending.times.min(initial=END_OF_TIME)))
        if plan.forget is None:  # only times count
            return self._as_context(gone[(rows.times[gone] >= base - plan.time_before) | self._looked_back_at()[gone]])
        newest = np.full(self.keys.count, _NONE)
        newest[rows.codes[gone]] = rows.numbers[gone]
        gone = gone[rows.numbers[gone] == newest[rows.codes[gone]]]  # what is over is never looked at again
        needed = self._looked_back_at()[gone] | (_from_end(rows.codes[gone]) < plan.rows_before)
        if plan.time_before:
            needed |= rows.times[gone] >= base - plan.time_before
        for name, count in plan.valued_before.items():
            valid = self.columns[name].is_valid().to_numpy(zero_copy_only=False)[gone]
            places = np.flatnonzero(valid)
            needed[places[_from_end(rows.codes[gone[places]]) < count]] = True
        return self._as_context(gone[needed & ~self._forgotten[rows.codes[gone]]])

    def _looked_back_at(self) -> Bools:
        """Which rows are looked at from afar: those of sessions with rows that wait, and those after the totals.

        Where a frame without a start ends before its row, the totals do not have the rows from its end on.
        """
        rows, needed = self.rows, np.zeros(len(self.rows), np.bool_)
        waiting = np.concatenate([[0], np.cumsum(self.waits & ~self.complete)])
        newest = np.flatnonzero(~self.waits | self.complete)
        newest = newest[_from_end(rows.codes[newest]) == 0]
        for one in self.plan.spec.new_columns:
            if isinstance(one.frame, SessionFrame):
                low, high = sessions(rows, one.frame.gap.micros)
                needed |= waiting[high] > waiting[low]
            elif one.frame.is_unbounded and one.frame.ends_before:
                low, high = frame_rows(one.frame, rows, newest)
                starts, ends = (np.bincount(places, minlength=len(rows) + 1) for places in (high, newest + 1))
                needed |= np.cumsum(starts - ends)[:-1] > 0
                if isinstance(one.function, LastValue):
                    places = row_of(one, one.function, rows, newest, self.columns[one.function.column])
                    needed[places[places >= 0]] = True
        return needed

    def _as_context(self, kept: Ints) -> ContextRows:
        """The rows at these places, with the columns that are looked at."""
        keys = [key.take(pa.array(self.rows.codes[kept])) for key in self.keys.keys]
        columns = [self.columns[field.name].take(pa.array(kept)) for field in self.plan.context]
        return ContextRows(self.rows.times[kept], keys, columns)

    def _next_totals(self) -> KeyTotals:
        """The totals of keys, after the rows that leave now."""
        plan, totals = self.plan, self.totals
        if plan.forget is None:
            return totals
        forgotten, last = self._forgotten, self._last_left
        codes = np.flatnonzero((last >= 0) & ~forgotten)
        at = last[codes]
        sums = self._sums(at)
        fresh = KeyTotals(
            self.rows.times[at],
            self._numbers(at),
            self._ranks(at),
            self._dense(at),
            [key.take(pa.array(codes)) for key in self.keys.keys],
            sums,
        )
        stays = np.ones(len(totals), np.bool_)
        known = np.flatnonzero(self.total_of >= 0)
        stays[self.total_of[known]] = (last[known] < 0) & ~forgotten[known]
        return KeyTotals.concat([totals.where(stays), fresh])

    def _sums(self, at: Ints) -> Partials:
        """The totals of frames without a start, up to and with these rows."""
        parts = []
        for one in self.plan.running:
            high = frame_rows(one.frame, self.rows, at)[1] if one.frame.ends_before else at + 1
            merged = ranges(one.aggregation, self._partials(one), self._beyond_totals(one.frame, at), high)
            parts.append(self._with_totals(one, merged, at))
        counts = parts[0].rows if parts else np.zeros(len(at), np.int64)
        return Partials(counts, None, [columns for part in parts for columns in part.columns])

    @cached_property
    def _last_left(self) -> Ints:
        """By key code: the place of the newest row that leaves now; -1 if none does."""
        last = np.full(self.keys.count, _NONE)
        last[self.rows.codes[self.at]] = self.at
        return last

    @cached_property
    def _forgotten(self) -> Bools:
        """By key code: whether nothing is kept of it any more, because a row to come would start anew."""
        forget, count = self.plan.forget, self.keys.count
        if forget is None or forget >= END_OF_TIME:
            return np.zeros(count, np.bool_)
        newest = np.full(count, END_OF_TIME)
        known = np.flatnonzero(self.total_of >= 0)
        newest[known] = self.totals.last[self.total_of[known]]
        last = self._last_left
        newest[last >= 0] = self.rows.times[last[last >= 0]]
        forgotten: Bools = (newest < END_OF_TIME) & (newest < self.watermark - forget)
        waiting = np.flatnonzero(self.waits & ~self.complete)
        forgotten[self.rows.codes[waiting]] = False
        return forgotten


def _from_end(codes: Ints) -> Ints:
    """How many rows of the same key come after each; rows of a key lie side by side."""
    if not len(codes):
        return np.zeros(0, np.int64)
    ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]), len(codes) - 1)
    sizes = np.diff(np.append(-1, ends))
    return np.repeat(ends, sizes) - np.arange(len(codes))
