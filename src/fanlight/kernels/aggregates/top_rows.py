"""The first rows of each group in the order of some columns; a partial has no more of them than are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.arrow_numpy import without_nulls
from fanlight.kernels.aggregates.lists import empty_lists, in_lists, paired, taken_apart
from fanlight.kernels.aggregates.sorting import by_group_then, ranks, sorts
from fanlight.kernels.aggregates.top_n import nth_greatest, numbers_of

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.model.order_by import OrderBy

_GROUP = "group"


@dataclass(frozen=True, slots=True)
class RowTops:
    """The first `n` structs of a group, by the fields of `order`, then by their other fields ascending.

    Null is last either way. Fields whose values have no order, such as lists, are not looked at.
    """

    kind: pa.DataType
    n: int
    order: tuple[OrderBy, ...]

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("rows", self.output),)

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        present, groups = without_nulls(values, groups)
        return [self._first(present, groups, sizes if len(present) == len(values) else groups.sizes())]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [self._of_lists(*taken_apart(partials[0], groups))]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [self._of_lists(*paired(left[0], right[0]))]

    def identity(self, count: int) -> list[Column]:
        return [empty_lists(count, self.kind)]

    def finish(self, partials: list[Any]) -> pa.Array:
        return partials[0]

    def _of_lists(self, rows: pa.Array, groups: Groups) -> pa.Array:
        return self._first(rows, groups, groups.sizes())

    def _first(self, rows: pa.Array, groups: Groups, sizes: Ints) -> pa.Array:
        """One list for each group, of which `sizes` says how many rows it has."""
        if sizes.max(initial=0) > self.n:
            near = self._near(rows, groups, sizes)
            rows, groups = rows.take(pa.array(near)), _taken(groups, near)
            sizes = groups.sizes()
        order = np.asarray(pc.sort_indices(*self._sorting(rows, groups))).astype(np.int64)
        kept = order[_places(sizes) < self.n]
        return in_lists(rows.take(pa.array(kept)), np.minimum(sizes, self.n))

    def _near(self, rows: pa.Array, groups: Groups, sizes: Ints) -> Ints:
        """The rows that can be among the first, by the first column alone: it is cheap to sort by one number."""
        by = self.order[0]
        column = pc.struct_field(rows, by.column)
        numbers = numbers_of(column)
        if numbers is not None:
            numbers = numbers if by.descending else ~numbers
            return np.flatnonzero(numbers >= nth_greatest(numbers, groups, self.n)[groups.codes])
        places = ranks(column)
        if by.descending:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            places = np.where(valid, -places, 1)
        order = by_group_then(groups, places)
        starts = np.cumsum(sizes) - sizes
        last = order[np.minimum(starts + np.minimum(sizes, self.n) - 1, len(order) - 1)]
        return np.flatnonzero(places <= places[last][groups.codes])

    def _sorting(self, rows: pa.Array, groups: Groups) -> tuple[pa.Table, list[tuple[str, str]]]:
        """The columns to sort by. Arrow puts NaN last; the law says it is the greatest."""
        columns: dict[str, Any] = {_GROUP: pa.array(groups.codes)}
        keys = [(_GROUP, "ascending")]
        fields = dict(zip((field.name for field in self.kind), rows.flatten(), strict=True))
        named = {one.column: "descending" if one.descending else "ascending" for one in self.order}
        for name in [*named, *(name for name in fields if name not in named and sorts(fields[name].type))]:
            column, direction = fields[name], named.get(name, "ascending")
            if pa.types.is_floating(column.type):
                columns[f"nan.{name}"] = pc.is_nan(column)
                keys.append((f"nan.{name}", direction))
                column = column.cast(pa.float64())
            columns[f"field.{name}"] = column
            keys.append((f"field.{name}", direction))
        return pa.table(columns), keys


def _places(sizes: Ints) -> Ints:
    """The place of each row in its group, from 0, for rows ordered by group."""
    starts = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)


def _taken(groups: Groups, rows: Ints) -> Groups:
    """The same groups over these rows."""
    return type(groups)(groups.codes[rows], groups.count)
