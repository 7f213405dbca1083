"""The incremental aggregates of a spec, side by side: rows to partials, partials to fewer partials, partials to values.

Beside the aggregates' own columns every partial carries `rows`, how many records it stands for, and where a firing's
time follows its records, `stamp`, the least or greatest of their times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.groups import Bools, Column, Groups, Ints, repeated
from fanlight.kernels.reducers import Reducer
from fanlight.kernels.reducers.gathered import GatheredLists
from fanlight.kernels.reducers.reducer import outside
from fanlight.kernels.reducers.values import as_array, as_column
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.firing import FiringTime
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True, slots=True)
class Partials:
    """Partial aggregates as columns, one row a group.

    Aggregates may share a column: where no value is null, each counts what `rows` counts. What is done to columns is
    done once to a shared one, and it stays shared.
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
        """The same rows, to be taken from many times: a count that is one number throughout is kept once.

        Counts of single records are all 1, and such a column is gathered without a look at it.
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
                made[place] = _concat(list(same))
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
class Fold:
    """What a spec's incremental aggregates do to partials."""

    reducers: tuple[Reducer, ...]
    firing_time: FiringTime

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns of partials in a chunk."""
        stamp = [] if self.firing_time is FiringTime.END else [pa.field("stamp", pa.int64(), nullable=False)]
        own = [
            field.with_name(f"{i}.{field.name}") for i, reducer in enumerate(self.reducers) for field in reducer.fields
        ]
        return [pa.field("rows", pa.int64(), nullable=False), *stamp, *own]

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
    ) -> Partials:
        """Rows to partials. `counted` says which rows a stamp looks at; None is all of them.

        `arrivals` numbers the rows as they came, for aggregates that keep them where merging loses their order.
        """
        sizes = groups.sizes()
        columns = [
            reducer.numbered(value, times, arrivals, groups)
            if arrivals is not None and isinstance(reducer, GatheredLists)
            else reducer.partial(value, times, groups, sizes)
            for reducer, value in zip(self.reducers, values, strict=True)
        ]
        return Partials(sizes, self._stamp(times, groups, counted), columns)

    def merge(self, partials: Partials, groups: Groups) -> Partials:
        """Partials to one a group."""
        rows = np.zeros(groups.count, np.int64)
        np.add.at(rows, groups.codes, partials.rows)
        columns = [reducer.merge(own, groups) for reducer, own in zip(self.reducers, partials.columns, strict=True)]
        stamp = None if partials.stamp is None else self._stamp(partials.stamp, groups, None)
        return Partials(rows, stamp, columns)

    def combine(self, left: Partials, right: Partials) -> Partials:
        """Two aligned sets of partials to one."""
        stamp = None
        if left.stamp is not None and right.stamp is not None:
            stamp = self.stamped_by(left.stamp, right.stamp)
        columns = [
            reducer.combine(a, b) for reducer, a, b in zip(self.reducers, left.columns, right.columns, strict=True)
        ]
        return Partials(left.rows + right.rows, stamp, columns)

    def identity(self, count: int) -> Partials:
        """The partials of `count` groups that have seen nothing."""
        stamp = None if self.firing_time is FiringTime.END else np.full(count, self._unstamped)
        return Partials(np.zeros(count, np.int64), stamp, [reducer.identity(count) for reducer in self.reducers])

    def finish(self, partials: Partials) -> list[pa.Array]:
        """Partials to values, one column an aggregate."""
        return [reducer.finish(own) for reducer, own in zip(self.reducers, partials.columns, strict=True)]

    def outside(self, partials: Partials) -> list[dict[int, Any]]:
        """For each aggregate, by row, exact words for values that its type cannot hold; `finish` gives null there."""
        return [outside(reducer, own) for reducer, own in zip(self.reducers, partials.columns, strict=True)]

    def to_arrays(self, partials: Partials) -> list[pa.Array]:
        """The columns of `fields`."""
        stamp = [] if partials.stamp is None else [partials.stamp]
        flat = [partials.rows, *stamp, *(column for columns in partials.columns for column in columns)]
        return [as_array(column, field) for column, field in zip(flat, self.fields, strict=True)]

    def from_arrays(self, arrays: list[pa.Array]) -> Partials:
        """What `to_arrays` made into columns."""
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
        if ends.max(initial=NO_WINDOW) >= EVERY_WINDOW:
            last = np.where(ends >= EVERY_WINDOW, END_OF_TIME, last)
        if partials.stamp is None:
            return last
        return np.where(partials.stamp == self._unstamped, last, partials.stamp)

    def unstamp(self, partials: Partials, places: Bools) -> Partials:
        """Partials whose stamps at `places` have seen nothing."""
        if partials.stamp is None:
            return partials
        return Partials(partials.rows, np.where(places, self._unstamped, partials.stamp), partials.columns)

    @property
    def stamped_by(self) -> np.ufunc:
        """What merges two stamps."""
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
        return _gathered(column, places)
    if places.dtype == np.bool_:
        return column.filter(pa.array(places))
    return column.take(pa.array(places))


def _gathered(column: NDArray[Any], places: Ints | Bools) -> NDArray[Any]:
    if len(column) and column.strides == (0,):
        return repeated(column, int(np.count_nonzero(places)) if places.dtype == np.bool_ else len(places))
    gathered: NDArray[Any] = column[places]
    return gathered


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


def _concat(columns: list[Column]) -> Column:
    if isinstance(columns[0], pa.Array):
        return pa.concat_arrays(columns)
    return _joined(columns)


def _joined(columns: list[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; what is kept once in each of them, the same, is kept once again."""
    held = [column for column in columns if len(column)]
    if held and all(column.strides == (0,) and column[0] == held[0][0] for column in held):
        return repeated(held[0], sum(len(column) for column in held))
    return np.concatenate(columns)
