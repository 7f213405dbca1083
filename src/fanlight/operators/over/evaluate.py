"""One look at the rows of `over`: which of them are complete, and the values of their new columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, encode_loosely
from fanlight.kernels.over.frames import frame_rows, sessions
from fanlight.kernels.over.peers import differs_from_before
from fanlight.kernels.over.row_at import ValuedRows, row_after, taken_from
from fanlight.kernels.over.stretches import EarlierRows, Stretches
from fanlight.model.over.frame import Frame, SessionFrame
from fanlight.model.over.functions import ColumnFunction, DenseRank, Lead, Rank, RowFunction, RowNumber
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
    ends: bool = False
    wanted: Bools | None = None
    """Of the rows that wait, those whose values are asked for. None: those that are complete."""
    moments: Ints | None = None
    """The times of the rows that wait, where they are in another order; `pending.times` say which are peers then."""

    def __post_init__(self) -> None:
        self.batch = pa.RecordBatch.from_arrays(self.pending.columns, schema=self.plan.waiting)
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
        self.at = np.flatnonzero(self.complete if self.wanted is None else self._side_by_side(self.wanted))
        """The places of the rows whose values are asked for."""

    @cached_property
    def columns(self) -> Values:
        """The columns that frames and functions look at, of all rows side by side."""
        waiting = self.plan.columns_of(self.batch)
        order = pa.array(self.rows.order)
        return {
            name: pa.concat_arrays([kept, own]).take(order)
            for (name, own), kept in zip(waiting.items(), self.context.columns, strict=True)
        }

    def _side_by_side(self, mask: Bools) -> Bools:
        """A mask of the rows that wait as one of all rows."""
        return np.append(np.zeros(len(self.context), np.bool_), mask)[self.rows.order]

    def _waiting(self, at: Ints) -> Bools:
        """The rows at these places, which differ, as a mask of those that wait."""
        if len(at) == len(self.pending):
            return np.ones(len(at), np.bool_)
        mask = np.zeros(len(self.pending), np.bool_)
        mask[self.rows.order[at] - len(self.context)] = True
        return mask

    @cached_property
    def passed(self) -> Bools:
        """Which of the rows that wait are complete."""
        return self._asked if self.wanted is None else self._waiting(np.flatnonzero(self.complete))

    @cached_property
    def leaving(self) -> Ints:
        """The rows whose values are asked for as places among those that wait, in the order of these."""
        return np.flatnonzero(self._asked)

    @cached_property
    def _asked(self) -> Bools:
        return self._waiting(self.at)

    def values(self) -> tuple[list[pa.Array], dict[int, dict[str, Any]]]:
        """The new columns of the rows `leaving`, in their order; and what does not fit its type, by row and name."""
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
        columns = [self._put_back(found[place]) for place in range(len(found))]
        return columns, {int(self._number_of[row]): told for row, told in outside.items()}

    def sees(self, frame: Frame, marked: Bools) -> Bools:
        """Of the rows `leaving`: whether a marked row that waits is in its frame, or between that and the row."""
        low, high = frame_rows(frame, self.rows, self.at)
        before = np.concatenate([[0], np.cumsum(self._side_by_side(marked))])
        seen: Bools = before[np.maximum(high, self.at + 1)] > before[np.minimum(low, self.at)]
        return seen[self._back]

    @cached_property
    def _number_of(self) -> Ints:
        """Of the rows asked for as they lie here: their numbers among those `leaving`."""
        places = self.rows.order[self.at] - len(self.context)
        return places if len(places) == len(self.pending) else (np.cumsum(self._asked) - 1)[places]

    def _put_back(self, column: pa.Array) -> pa.Array:
        """Values of the rows asked for as they lie here, in the order of those `leaving`."""
        if column.null_count or not (pa.types.is_float64(column.type) or pa.types.is_int64(column.type)):
            return column.take(pa.array(self._back))
        values = np.empty(len(column), column.type.to_pandas_dtype())
        values[self._number_of] = column.to_numpy()
        return pa.array(values)

    @cached_property
    def _back(self) -> Ints:
        back = np.empty(len(self._number_of), np.int64)
        back[self._number_of] = np.arange(len(back))
        return back

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
        if not self.plan.spec.waits_for_rows or not complete.any():
            return complete
        is_over, ends = self._is_over(), self._ends_below()
        for one in self.plan.spec.new_columns:
            complete &= self._sees_enough(one, ends) | is_over
        return complete

    def _is_over(self) -> Bools:
        """Whether no row can come any more that is of the stretch of each row."""
        rows, forget = self.rows, self.plan.forget
        if forget is None or forget >= END_OF_TIME:
            return np.zeros(len(rows), np.bool_)
        is_over: Bools = rows.times[rows.ends - 1] < self.watermark - forget
        return is_over

    def _ends_below(self) -> Ints:
        """Where the stretch of each row ends below the watermark: before a row above it one may still come."""
        rows = self.rows
        below = np.concatenate([[0], np.cumsum(rows.times < self.watermark)])
        ends: Ints = rows.starts + below[rows.ends] - below[rows.starts]
        return ends

    def _sees_enough(self, one: Computed, ends: Ints) -> Bools:
        """Whether the rows after each row that a new column looks at are all there; `ends` is after those that are."""
        rows, at = self.rows, np.arange(len(self.rows))
        enough: Bools = at + one.frame.rows_after < ends
        if isinstance(one.frame, SessionFrame):
            last = sessions(rows, one.frame.gap.micros)[1] - 1
            enough &= rows.times[last] <= self.watermark - one.frame.gap.micros
        if isinstance(one.function, Lead):
            valued = ValuedRows.of(self.columns[one.function.column], ignore_nulls=one.function.ignore_nulls)
            found = row_after(at, one.function.offset, ends, valued) >= 0
            most = within(one.function)
            enough &= found if most is None else found | (rows.times < self.watermark - most)
        return enough

    def _aggregated(self, one: FrameAggregates) -> tuple[list[pa.Array], Misfits]:
        """The aggregates of the frames of the rows that are asked for."""
        at, partials = self.at, self.partials(one)
        low, high = frame_rows(one.frame, self.rows, at)
        if not one.frame.is_unbounded:
            return frame_values(one, partials, at, low, high)
        low = np.maximum(low, self.beyond_totals(one.frame, at))
        merged = self.with_totals(one, merged_frames(one, partials, at, low, high), at)
        return one.aggregation.finish(merged), one.aggregation.outside(merged)

    def beyond_totals(self, frame: Frame, at: Ints) -> Ints:
        """For each row: the first row of its stretch that the totals of a frame without a start do not have.

        Totals have what the frame of the newest row that left has, and that row too unless the frame ends before it.
        """
        if not frame.ends_before:
            return self.first[at]
        newest = np.maximum(self.first[at] - 1, 0)
        return np.where(self._carried(at) >= 0, frame_rows(frame, self.rows, newest)[1], self.rows.starts[at])

    def partials(self, one: FrameAggregates) -> Partials:
        """The partial of each row by itself."""
        if one.frame not in self._made:
            alone = Groups.alone(len(self.rows))
            values, times = one.values(self.columns), self._moments
            self._made[one.frame] = one.aggregation.partial(values, times, alone, None, self.rows.order)
        return self._made[one.frame]

    @property
    def _moments(self) -> Ints:
        """The times of all rows side by side."""
        if self.moments is None:
            return self.rows.times
        return np.concatenate([self.context.times, self.moments])[self.rows.order]

    def with_totals(self, one: FrameAggregates, merged: Partials, at: Ints) -> Partials:
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
        """One value of a row function for each row that is asked for."""
        match function:
            case RowNumber():
                return pa.array(self.numbers(self.at))
            case Rank():
                return pa.array(self.ranks(self.at))
            case DenseRank():
                return pa.array(self.dense(self.at))
            case ColumnFunction(column=column):
                values = self.columns[column]
                return taken_from(values, row_of(computed, function, self.rows, self.at, values))
        raise TypeError(f"{function!r} is no function of rows.")

    def numbers(self, at: Ints) -> Ints:
        """The place of each row in its stretch, from 1."""
        return at - self.first[at] + 1 + self._from_totals(self.totals.numbers, at)

    def ranks(self, at: Ints) -> Ints:
        """The rank of each row in its stretch."""
        heads = np.maximum.accumulate(np.where(self._is_head, np.arange(len(self.rows)), 0))[at]
        own = self.numbers(heads)
        return np.where(self.waits[heads], own, self._from_totals(self.totals.ranks, at))

    def dense(self, at: Ints) -> Ints:
        """The rank of each row in its stretch, without gaps."""
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
