"""Aggregates that count or keep something for each distinct value: a partial is a list of entries.

    group 0   [(tea, 3), (milk, 1)]   ─┐
    group 0   [(milk, 2)]             ─┴─ merge ─►   [(tea, 3), (milk, 3)]

The entries of equal keys are merged by the reducer of the entries, so a partial is as large as the number of
different keys, however many records there were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import as_array, as_column, complete
from fanlight.kernels.aggregates.lists import empty_lists, in_lists, paired, taken_apart
from fanlight.kernels.aggregates.sorting import by_group_then
from fanlight.kernels.grouping import groups as coding
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.reducer import Retractable, takes_back

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Ints
    from fanlight.kernels.reducer import Reducer

MOST = 1024
"""How many distinct keys a group keeps for heavy hitters: up to this number every count is exact."""


class Ending(Protocol):
    """How the entries of a group become its value."""

    @property
    def output(self) -> pa.DataType:
        """The type of a value."""
        ...

    def values(self, keys: pa.Array, found: pa.Array, groups: Groups) -> pa.Array:
        """One value for each group, from its keys and the result of each key; ordered by group."""
        ...


@dataclass(frozen=True, slots=True)
class KeyedPartials:
    """One entry for each group and key: the key, and the partial of `entries` over the rows that have it.

    The input is a column of keys; or, where `entries` works on values, structs of key and value. Rows without a key or
    without a value have no entry. NaN is one key, and zero has no sign.
    """

    kind: pa.DataType
    entries: Reducer
    ending: Ending
    of_values: bool = False
    most: int | None = None
    """How many entries of counts a group keeps at most; None is all of them. See `_few`."""

    @property
    def row(self) -> pa.DataType:
        """One entry in a list."""
        return pa.struct([pa.field("key", self.kind), *self.entries.fields])

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("entries", pa.list_(self.row)),)

    @property
    def output(self) -> pa.DataType:
        return self.ending.output

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        columns = values.flatten() if self.of_values else [values]
        columns, times, groups = complete(columns, times, groups)
        pairs, keys, owners = _pairs(columns[0], groups)
        entries = self.entries.partial(columns[1] if self.of_values else None, times, pairs, pairs.sizes())
        return [self._listed(keys, entries, owners)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [self._merged(*taken_apart(partials[0], groups))]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [self._merged(*paired(left[0], right[0]))]

    def identity(self, count: int) -> list[Column]:
        return [empty_lists(count, self.row)]

    def finish(self, partials: list[Any]) -> pa.Array:
        rows, groups = taken_apart(partials[0])
        keys, *entries = rows.flatten()
        return self.ending.values(keys, self.entries.finish(self._columns(entries)), groups)

    @property
    def takes_back(self) -> bool:
        return self.most is None and takes_back(self.entries)

    def negated(self, partials: list[Any]) -> list[Column]:
        assert isinstance(self.entries, Retractable)
        rows, groups = taken_apart(partials[0])
        keys, *entries = rows.flatten()
        return [self._listed(keys, self.entries.negated(self._columns(entries)), groups)]

    def _merged(self, rows: pa.Array, groups: Groups) -> pa.Array:
        keys, *entries = rows.flatten()
        pairs, keys, owners = _pairs(keys, groups)
        merged: list[Any] = self.entries.merge(self._columns(entries), pairs)
        if self.takes_back and not merged[-1].all():  # a key that was taken back as often as it came
            held = merged[-1] != 0
            keys, merged, owners = keys.filter(pa.array(held)), [part[held] for part in merged], owners.where(held)
        return self._listed(keys, merged, owners)

    def _listed(self, keys: pa.Array, entries: list[Column], owners: Groups) -> pa.Array:
        if self.most is not None and len(keys):
            keys, entries, owners = _few(keys, entries, owners, self.most)
        arrays = [as_array(column, field) for column, field in zip(entries, self.entries.fields, strict=True)]
        return in_lists(pa.StructArray.from_arrays([keys, *arrays], fields=list(self.row)), owners.sizes())

    def _columns(self, entries: list[pa.Array]) -> list[Column]:
        return [as_column(array, field) for array, field in zip(entries, self.entries.fields, strict=True)]


def _few(keys: pa.Array, entries: list[Any], owners: Groups, most: int) -> tuple[pa.Array, list[Column], Groups]:
    """Cut groups down to `most` entries, by the algorithm of Misra and Gries.

    The greatest count that must go is subtracted from every entry, so `most + 1` entries lose it together. A count is
    therefore never too high, and too low by at most 1 / (most + 1) of the group's records, however partials are merged.
    """
    sizes = owners.sizes()
    full = np.flatnonzero(sizes > most)
    if not len(full):
        return keys, entries, owners
    (counts,) = entries
    order = by_group_then(owners, -counts)
    taken = np.zeros(owners.count, np.int64)
    taken[full] = counts[order[(np.cumsum(sizes) - sizes)[full] + most]]
    left = counts - taken[owners.codes]
    return keys.filter(pa.array(left > 0)), [left[left > 0]], owners.where(left > 0)


def _pairs(keys: pa.Array, groups: Groups) -> tuple[Groups, pa.Array, Groups]:
    """The pairs of group and key that occur: each row's pair, each pair's key, each pair's group; by group."""
    is_struct = pa.types.is_struct(keys.type)
    found = coding.encode(keys.flatten() if is_struct else [keys], len(keys))
    width = max(found.count, 1)
    codes, present = coding.densify(groups.codes * width + found.codes, groups.count * width)
    columns = found.take(present % width)
    distinct = pa.StructArray.from_arrays(columns, fields=list(keys.type)) if is_struct else columns[0]
    return Groups(codes, len(present)), distinct, Groups(present // width, groups.count)
