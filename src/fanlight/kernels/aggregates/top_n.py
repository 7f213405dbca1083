"""The greatest values of each group, greatest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.arrow_numpy import without_nulls
from fanlight.kernels.aggregates.sorting import sorts
from fanlight.kernels.routes import ROUTES
from fanlight.kernels.sort_key_time import sort_by_key_time

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints

_GROUP = "group"


@dataclass(frozen=True, slots=True)
class Tops:
    """The `n` greatest values of a group except nulls. Structs go by their field `by`, then by the others ascending."""

    kind: pa.DataType
    n: int
    by: str | None

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        present, groups = without_nulls(values, groups)
        present, groups = self._candidates(present, groups)
        order = np.asarray(pc.sort_indices(*self._sorting(present, groups))).astype(np.int64)
        sizes = groups.sizes()
        starts = np.cumsum(sizes) - sizes
        place = np.arange(len(order)) - np.repeat(starts, sizes)
        kept = order[place < self.n]
        offsets = np.concatenate(([0], np.cumsum(np.minimum(sizes, self.n))))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), present.take(pa.array(kept)), type=self.output)

    def _candidates(self, values: pa.Array, groups: Groups) -> tuple[pa.Array, Groups]:
        """The values that may be among the greatest; all, where that is not cheaper to say than to sort them.

        One number a value is sorted much faster than several columns. What is less than the n-th greatest number of its
        group is left out, so that only the few at the top are sorted by all their fields.
        """
        sizes = groups.sizes()
        if len(values) <= max(ROUTES.get().sorted_whole, 2 * self.n * len(sizes)):
            return values, groups
        numbers = numbers_of(self._fields(values)[0][1])
        if numbers is None:
            return values, groups
        kept = numbers >= nth_greatest(numbers, groups, self.n)[groups.codes]
        return values.filter(pa.array(kept)), groups.where(kept)

    def _sorting(self, values: pa.Array, groups: Groups) -> tuple[pa.Table, list[tuple[str, str]]]:
        columns = {_GROUP: pa.array(groups.codes)}
        keys = [(_GROUP, "ascending")]
        for name, column, direction in self._fields(values):
            if pa.types.is_floating(column.type):  # Arrow puts NaN last; the law says it is the greatest
                columns[f"{name}.nan"] = pc.is_nan(column)
                keys.append((f"{name}.nan", direction))
                column = column.cast(pa.float64())
            columns[name] = column
            keys.append((name, direction))
        return pa.table(columns), keys

    def _fields(self, values: pa.Array) -> list[tuple[str, pa.Array, str]]:
        if self.by is None:
            return [("value", values, "descending")]
        fields = dict(zip((f"field.{field.name}" for field in self.kind), values.flatten(), strict=True))
        first = f"field.{self.by}"
        others = [(name, column, "ascending") for name, column in fields.items() if name != first]
        return [(first, fields[first], "descending"), *(part for part in others if sorts(part[1].type))]


def nth_greatest(numbers: Ints, groups: Groups, n: int) -> Ints:
    """The n-th greatest number of each group, or its least if it has fewer; anything for a group without numbers.

    >>> from fanlight.kernels.grouping.groups import Groups
    >>> nth_greatest(np.array([4, 9, 7, 1]), Groups(np.array([0, 0, 0, 1]), 2), 2).tolist()
    [7, 1]
    """
    if groups.bounds is not None and len(numbers) >= ROUTES.get().long_run * groups.count:
        return _nth_of_runs(numbers, groups.bounds, n)
    sizes = groups.sizes()
    least = int(numbers.min())
    span = int(numbers.max()) - least + 1
    if span * len(sizes) <= ROUTES.get().close_numbers + len(numbers):  # so close together that counting is cheaper
        cells = np.bincount(groups.codes * span + (numbers - least), minlength=len(sizes) * span)
        above = np.cumsum(cells.reshape(len(sizes), span)[:, ::-1], axis=1)
        higher: Ints = np.count_nonzero(above < np.minimum(sizes, n)[:, np.newaxis], axis=1)
        return least + span - 1 - higher
    ends = np.cumsum(sizes)
    filled = np.flatnonzero(sizes)
    found = np.zeros(len(sizes), np.int64)
    found[filled] = ~sort_by_key_time(groups.codes, ~numbers).times[np.minimum(ends - sizes + n, ends)[filled] - 1]
    return found


def _nth_of_runs(numbers: Ints, bounds: Ints, n: int) -> Ints:
    """The same for rows that lie group by group, in a few long runs: each is partitioned by itself."""
    found = np.zeros(len(bounds) - 1, np.int64)
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        own = numbers[bounds[group] : bounds[group + 1]]
        place = max(len(own) - n, 0)
        found[group] = np.partition(own, place)[place]
    return found


def numbers_of(column: pa.Array) -> Ints | None:
    """One whole number for each value, in the order of the values; None where there is none that is cheap."""
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_float64(column.type)):
        return None
    found = column.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(column.type):
        return None if pa.types.is_uint64(column.type) else found.astype(np.int64, copy=False)
    if np.isnan(found).any():
        return None
    bits: Ints = (found + 0.0).view(np.int64)  # zero has no sign
    return bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
