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
from fanlight.kernels.over.frames import frame_rows
from fanlight.kernels.over.peers import differs_from_before
from fanlight.kernels.over.row_at import ValuedRows, last_row, nth_row, row_after, row_before, taken_from
from fanlight.kernels.over.stretches import EarlierRows, Stretches
from fanlight.model.over.frame import Frame
from fanlight.model.over.functions import (
    ColumnFunction,
    DenseRank,
    Lag,
    LastValue,
    Lead,
    NthValue,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp
from fanlight.operators.over.carry import ContextRows, KeyTotals, PendingRows
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
            partials = self._merged(one)
            found |= dict(zip(one.places, one.aggregation.finish(partials), strict=True))
            for place, misfits in zip(one.places, one.aggregation.outside(partials), strict=True):
                for row, text in misfits.items():
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
        rows, spec, forget = self.rows, self.plan.spec, self.plan.forget
        complete: Bools = self.waits & (rows.times < self.watermark - spec.time_after)
        if not spec.rows_after:
            return complete
        assert forget is not None  # the spec asks for it
        is_over = np.ones(len(rows), np.bool_)
        last = rows.ends - 1
        of_key = np.append(rows.codes[1:] != rows.codes[:-1], True)
        newest = of_key[last]  # the stretch is the key's newest: more of it may come
        is_over[newest] = rows.times[last[newest]] + forget < self.watermark if forget < END_OF_TIME else False
        at = np.arange(len(rows))
        enough = np.ones(len(rows), np.bool_)
        for one in spec.new_columns:
            enough &= at + one.frame.rows_after < rows.ends
            if isinstance(one.function, Lead):
                enough &= self._lead(one.function, at) >= 0
        return complete & (enough | is_over)

    def _merged(self, one: FrameAggregates) -> Partials:
        """The partials of the frames of the complete rows."""
        aggregation, at, partials = one.aggregation, self.at, self._partials(one)
        low, high = frame_rows(one.frame, self.rows, at)
        if one.frame.is_unbounded:
            low = np.maximum(low, self.first[at])
        if one.frame.excludes_current:
            merged = aggregation.combine(
                ranges(aggregation, partials, low, at), ranges(aggregation, partials, at + 1, high)
            )
        else:
            merged = ranges(aggregation, partials, low, high)
        return self._with_totals(one, merged, at) if one.frame.is_unbounded else merged

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
                return taken_from(self.columns[column], self._row_of(computed, function))
        raise TypeError(f"{function!r} is no function of rows.")

    def _row_of(self, computed: Computed, function: ColumnFunction) -> Ints:
        """The row that a function takes its value from, for each complete row."""
        at, rows = self.at, self.rows
        valued = ValuedRows.of(self.columns[function.column], ignore_nulls=function.ignore_nulls)
        match function:
            case Lag(offset=offset):
                return row_before(at, offset, rows.starts[at], valued)
            case Lead():
                return self._lead(function, at)
        low, high = frame_rows(computed.frame, rows, at)
        excluded = computed.frame.excludes_current
        if isinstance(function, NthValue):
            return nth_row(function.offset, at, low, high, excluded=excluded, valued=valued)
        assert isinstance(function, LastValue)
        return last_row(at, low, high, excluded=excluded, valued=valued)

    def _lead(self, function: Lead, at: Ints) -> Ints:
        valued = ValuedRows.of(self.columns[function.column], ignore_nulls=function.ignore_nulls)
        return row_after(at, function.offset, self.rows.ends[at], valued)

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
            gone = gone[rows.times[gone] >= base - plan.time_before]
            return self._as_context(gone)
        newest = np.full(self.keys.count, _NONE)
        newest[rows.codes[gone]] = rows.numbers[gone]
        gone = gone[rows.numbers[gone] == newest[rows.codes[gone]]]  # what is over is never looked at again
        needed = _from_end(rows.codes[gone]) < plan.rows_before
        if plan.time_before:
            needed |= rows.times[gone] >= base - plan.time_before
        for name, count in plan.valued_before.items():
            valid = self.columns[name].is_valid().to_numpy(zero_copy_only=False)[gone]
            places = np.flatnonzero(valid)
            needed[places[_from_end(rows.codes[gone[places]]) < count]] = True
        return self._as_context(gone[needed & ~self._forgotten[rows.codes[gone]]])

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
            merged = ranges(one.aggregation, self._partials(one), self.first[at], at + 1)
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
