"""The incremental aggregates of a spec, side by side: they turn rows into partials, merge partials, and finish values.

Beside the aggregates' own columns every partial carries `rows`, how many records it stands for, and where a firing's
time follows its records, `stamp`, the least or greatest of their times. Rows are also aggregated by slice and key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import as_array, as_column
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.kernels.grouping.columnar import Columnar, concatenated, gathered
from fanlight.kernels.grouping.groups import (
    Bools,
    Column,
    Groups,
    Ints,
    KeyCodes,
    Pairs,
    densify,
    encode_loosely,
    order_of,
    ranked,
    repeated,
    runs,
)
from fanlight.kernels.reducer import Bounded, Reducer, Retractable, outside
from fanlight.kernels.routes import ROUTES
from fanlight.model.firing import FiringTime
from fanlight.model.time.timestamp import END_OF_TIME, NO_END, START_OF_TIME


@dataclass(frozen=True, slots=True)
class Partials:
    """Partial aggregates as columns, one row a group.

    Aggregates may share a column: where no value is null, each counts what `rows` counts. An operation on the columns
    is applied to a shared one once, and it stays shared.
    """

    rows: Ints
    stamp: Ints | None
    columns: list[list[Column]]

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: Ints | Bools) -> Partials:
        """The rows at `places`, or those a mask keeps."""
        return self._each(lambda column: _take(column, places))

    def thin(self) -> Partials:
        """The same rows, made cheap to take from many times: a count that is the same in every row is stored once.

        Counts of single records are all 1, and such a column is gathered without reading it.
        """
        return replace(self._each(_thin), stamp=self.stamp)

    def part(self, start: int, end: int) -> Partials:
        """The rows from `start` up to `end`, as views."""
        return self._each(lambda column: column[start:end])

    def put(self, places: Ints, rows: Partials) -> Partials:
        """These partials with `rows` at `places`; places are distinct."""
        stamp = self.stamp
        if stamp is not None and rows.stamp is not None:
            stamp = _put(stamp, places, rows.stamp)
        columns = [
            [_put_column(old, places, new) for old, new in zip(olds, news, strict=True)]
            for olds, news in zip(self.columns, rows.columns, strict=True)
        ]
        return Partials(_put(self.rows, places, rows.rows), stamp, columns)

    @staticmethod
    def concat(parts: list[Partials]) -> Partials:
        """The rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        stamps = [part.stamp for part in parts if part.stamp is not None]
        made: dict[tuple[int, ...], Any] = {}

        def joined(*same: Column) -> Any:
            place = tuple(id(column) for column in same)
            if place not in made:
                made[place] = concatenated(list(same))
            return made[place]

        return Partials(
            joined(*(part.rows for part in parts)),
            np.concatenate(stamps) if stamps else None,
            [
                [joined(*same) for same in zip(*columns, strict=True)]
                for columns in zip(*(part.columns for part in parts), strict=True)
            ],
        )

    def _each(self, change: Callable[[Any], Any]) -> Partials:
        """Every column changed, a shared one once."""
        made: dict[int, Any] = {}

        def changed(column: Column) -> Any:
            if id(column) not in made:
                made[id(column)] = change(column)
            return made[id(column)]

        stamp = None if self.stamp is None else changed(self.stamp)
        return Partials(changed(self.rows), stamp, [[changed(column) for column in own] for own in self.columns])


@dataclass(frozen=True)
class Aggregation:
    """What a spec's incremental aggregates do to partials."""

    reducers: tuple[Reducer, ...]
    firing_time: FiringTime
    signed: bool = False
    """Whether rows may take others back. The first reducer then counts the rows that are left, for nobody to see."""

    @cached_property
    def visible(self) -> tuple[Reducer, ...]:
        """The reducers whose values are shown."""
        return self.reducers[self.signed :]

    def held(self, partials: Partials) -> Ints:
        """How many rows are left in each partial: as many as came, less twice those that took another back."""
        if not self.signed:
            return partials.rows
        left: Ints = np.asarray(partials.columns[0][0])
        return left

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns of partials in a chunk."""
        stamp = [] if self.firing_time is FiringTime.END else [pa.field("stamp", pa.int64(), nullable=False)]
        own = [
            field.with_name(f"{i}.{field.name}") for i, reducer in enumerate(self.reducers) for field in reducer.fields
        ]
        return [pa.field("rows", pa.int64(), nullable=False), *stamp, *own]

    @cached_property
    def is_bounded(self) -> bool:
        """Whether an aggregate may have a value that its type cannot hold."""
        return any(isinstance(reducer, Bounded) for reducer in self.reducers)

    @property
    def numbers_rows(self) -> bool:
        """Whether an aggregate keeps rows by the numbers that `partial` can be given."""
        return any(isinstance(reducer, GatheredLists) for reducer in self.reducers)

    def partial(
        self,
        values: list[pa.Array | None],
        times: Ints,
        groups: Groups,
        counted: Bools | None,
        arrivals: Ints | None = None,
        deletes: Bools | None = None,
    ) -> Partials:
        """Turn rows into partials. `counted` marks the rows that a stamp considers; None means all of them.

        `arrivals` numbers the rows in order of arrival, for aggregates that need this order after partials were merged.
        `deletes` marks the rows that take others back.
        """
        if deletes is not None:
            return self._signed(values, times, groups, deletes)
        if self.signed:
            values = [None, *values]
        sizes = groups.sizes()
        columns = [
            reducer.numbered(value, times, arrivals, groups)
            if arrivals is not None and isinstance(reducer, GatheredLists)
            else reducer.partial(value, times, groups, sizes)
            for reducer, value in zip(self.reducers, values, strict=True)
        ]
        return Partials(sizes, self._stamp(times, groups, counted), columns)

    def _signed(self, values: list[pa.Array | None], times: Ints, groups: Groups, deletes: Bools) -> Partials:
        """Aggregate the rows that insert and those that delete apart, then take the latter back."""
        apart = Groups(2 * groups.codes.astype(np.int64) + deletes, 2 * groups.count)
        both = self.partial(values, times, apart, None)
        place = 2 * np.arange(groups.count)
        gone = both.take(place + 1)
        each = zip(self.reducers, gone.columns, strict=True)
        back = [reducer.negated(own) for reducer, own in each if isinstance(reducer, Retractable)]
        return self.combine(both.take(place), replace(gone, columns=back))

    def merge(self, partials: Partials, groups: Groups) -> Partials:
        """Merge partials into one for each group."""
        rows = np.zeros(groups.count, np.int64)
        np.add.at(rows, groups.codes, partials.rows)
        columns = [reducer.merge(own, groups) for reducer, own in zip(self.reducers, partials.columns, strict=True)]
        stamp = None if partials.stamp is None else self._stamp(partials.stamp, groups, None)
        return Partials(rows, stamp, columns)

    def combine(self, left: Partials, right: Partials) -> Partials:
        """Merge row i of the one with row i of the other."""
        stamp = None
        if left.stamp is not None and right.stamp is not None:
            stamp = self.stamped_by(left.stamp, right.stamp)
        columns = [
            reducer.combine(a, b) for reducer, a, b in zip(self.reducers, left.columns, right.columns, strict=True)
        ]
        return Partials(left.rows + right.rows, stamp, columns)

    def identity(self, count: int) -> Partials:
        """The partials of `count` groups without a record."""
        stamp = None if self.firing_time is FiringTime.END else np.full(count, self._unstamped)
        return Partials(np.zeros(count, np.int64), stamp, [reducer.identity(count) for reducer in self.reducers])

    def finish(self, partials: Partials) -> list[pa.Array]:
        """Turn partials into values: one column for each aggregate."""
        shown = zip(self.visible, partials.columns[self.signed :], strict=True)
        return [reducer.finish(own) for reducer, own in shown]

    def outside(self, partials: Partials) -> list[dict[int, Any]]:
        """For each aggregate, by row: the exact text of values that do not fit its type; `finish` gives null there."""
        shown = zip(self.visible, partials.columns[self.signed :], strict=True)
        return [outside(reducer, own) for reducer, own in shown]

    def to_arrays(self, partials: Partials) -> list[pa.Array]:
        """The columns of `fields`."""
        stamp = [] if partials.stamp is None else [partials.stamp]
        flat = [partials.rows, *stamp, *(column for columns in partials.columns for column in columns)]
        return [as_array(column, field) for column, field in zip(flat, self.fields, strict=True)]

    def from_arrays(self, arrays: list[pa.Array]) -> Partials:
        """Partials from the columns that `to_arrays` made."""
        flat = [as_column(array, field) for array, field in zip(arrays, self.fields, strict=True)]
        stamped = self.firing_time is not FiringTime.END
        place = 1 + stamped
        columns = []
        for reducer in self.reducers:
            columns.append(flat[place : place + len(reducer.fields)])
            place += len(reducer.fields)
        return Partials(np.asarray(flat[0]), np.asarray(flat[1]) if stamped else None, columns)

    def stamps(self, partials: Partials, ends: Ints, tick: int) -> Ints:
        """The event time of each firing; END_OF_TIME for windows without end."""
        last = ends - tick
        if ends.max(initial=START_OF_TIME) >= NO_END:
            last = np.where(ends >= NO_END, END_OF_TIME, last)
        if partials.stamp is None:
            return last
        return np.where(partials.stamp == self._unstamped, last, partials.stamp)

    def unstamp(self, partials: Partials, places: Bools) -> Partials:
        """Partials whose stamps at `places` are empty again."""
        if partials.stamp is None:
            return partials
        return Partials(partials.rows, np.where(places, self._unstamped, partials.stamp), partials.columns)

    @property
    def stamped_by(self) -> np.ufunc:
        """The reducer that merges stamps."""
        return np.minimum if self.firing_time is FiringTime.EARLIEST else np.maximum

    @property
    def _unstamped(self) -> int:
        return END_OF_TIME if self.firing_time is FiringTime.EARLIEST else START_OF_TIME

    def _stamp(self, times: Ints, groups: Groups, counted: Bools | None) -> Ints | None:
        if self.firing_time is FiringTime.END:
            return None
        stamp = np.full(groups.count, self._unstamped)
        if counted is None:
            self.stamped_by.at(stamp, groups.codes, times)
        else:
            self.stamped_by.at(stamp, groups.codes[counted], times[counted])
        return stamp


def _take(column: Column, places: Ints | Bools) -> Column:
    if not isinstance(column, pa.Array):
        return gathered(column, places)
    if places.dtype == np.bool_:
        return column.filter(pa.array(places))
    return column.take(pa.array(places))


def _thin(column: Any) -> Any:
    if isinstance(column, pa.Array) or column.dtype != np.int64 or not len(column) or column.strides == (0,):
        return column
    is_even = column[0] == column[-1] and bool((column == column[0]).all())
    return repeated(column, len(column)) if is_even else column


def _put(column: Ints, places: Ints, values: Ints) -> Ints:
    if column.strides == values.strides == (0,) and len(column) and len(values) and column[0] == values[0]:
        return column  # one number throughout, before and after
    changed = column.copy()
    changed[places] = values
    return changed


def _put_column(column: Column, places: Ints, values: Column) -> Column:
    if not isinstance(column, pa.Array):
        return _put(column, places, values)
    source = np.arange(len(column), dtype=np.int64)
    source[places] = len(column) + np.arange(len(places))
    return pa.concat_arrays([column, values]).take(pa.array(source))


@dataclass(frozen=True, slots=True)
class SlicedPartials(Columnar):
    """Partials with their slices and keys, ordered by slice."""

    slices: Ints
    keys: list[pa.Array]
    partials: Partials

    @property
    def distinct(self) -> Ints:
        """The slices that occur, ascending."""
        return self.slices[runs(self.slices)[:-1]]

    def between(self, first: int, last: int) -> SlicedPartials:
        """The rows of the slices from `first` to `last`, as views."""
        start, end = np.searchsorted(self.slices, [first, last + 1]).tolist()
        return self.part(start, end)


def partial_by_slice(
    aggregation: Aggregation,
    values: list[pa.Array | None],
    times: Ints,
    slices: Ints,
    found: KeyCodes,
    counted: Bools | None,
    deletes: Bools | None = None,
) -> SlicedPartials:
    """Turn rows into one partial for each slice and key that occur; within a slice the codes ascend.

    Large slices are aggregated one at a time: the groups of one slice fit in the processor's cache, those of all slices
    together do not.

        rows by slice    7 7 7 7 7 7 | 8 8 8 8 8 | 9 9 9 9 9 9
        grouped by key   ─────────── | ───────── | ───────────
    """
    large = ROUTES.get().large_slice
    if found.count < large or len(slices) < large * _distinct(slices):
        pairs = Pairs.of(slices, found.codes, found.count)
        outer, codes, partials = pairs.settle(
            aggregation.partial(values, times, pairs.groups, counted, deletes=deletes)
        )
        return SlicedPartials(outer, found.take(codes), partials)
    order = order_of(slices)
    ordered = slices[order]
    distinct = {id(column): column for column in values if column is not None}
    parts = []
    for part in _parts(ordered):
        rows = order[part]
        places = pa.array(rows)
        taken = {place: column.take(places) for place, column in distinct.items()}
        own = [taken.get(id(column)) for column in values]
        few, present = densify(found.codes[rows], found.count)
        pairs = Pairs.of(ordered[part], few, len(present))
        counts, gone = (None if marks is None else marks[rows] for marks in (counted, deletes))
        partials = aggregation.partial(own, times[rows], pairs.groups, counts, deletes=gone)
        outer, codes, partials = pairs.settle(partials)
        parts.append(SlicedPartials(outer, found.take(present[codes]), partials))
    return SlicedPartials.concat(parts)


def merge_by_slice(aggregation: Aggregation, rows: SlicedPartials) -> SlicedPartials:
    """Merge partials into one for each slice and key; within a slice the keys ascend, null last."""
    parts = list(_parts(rows.slices))
    if len(parts) == 1:
        return _merged(aggregation, rows)
    merged = [_merged(aggregation, rows.part(part.start, part.stop)) for part in parts]
    return SlicedPartials.concat([rows.part(0, 0), *merged])


def _merged(aggregation: Aggregation, rows: SlicedPartials) -> SlicedPartials:
    found = encode_loosely(rows.keys, len(rows.slices), in_order=True)
    pairs = Pairs.of(rows.slices, found.codes, found.count)
    slices, codes, merged = pairs.settle(aggregation.merge(rows.partials, pairs.groups))
    return SlicedPartials(slices, found.take(codes), merged)


def _distinct(slices: Ints) -> int:
    """How many slices there are, or 1 if there are none."""
    return max(1, int(np.count_nonzero(np.bincount(ranked(slices)[0]))))


def _parts(slices: Ints) -> Iterator[slice]:
    """Cut rows that are ordered by slice: into single slices if these are large, otherwise not at all."""
    bounds = runs(slices)
    if len(slices) < ROUTES.get().large_slice * (len(bounds) - 1):
        bounds = bounds[[0, -1]]
    for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield slice(start, end)
