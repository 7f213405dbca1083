"""The values made from entries by key: the distinct keys, the most frequent key, the keys with the greatest results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.lists import in_lists
from fanlight.kernels.aggregates.sorting import by_group_then, ranks

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints


@dataclass(frozen=True, slots=True)
class KeysInOrder:
    """The keys in ascending order."""

    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return pa.list_(self.kind)

    def values(self, keys: pa.Array, found: pa.Array, groups: Groups) -> pa.Array:
        order = by_group_then(groups, ranks(keys))
        return in_lists(keys.take(pa.array(order)), groups.sizes())


@dataclass(frozen=True, slots=True)
class MostFrequent:
    """The most frequent key; of several, the least."""

    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return self.kind

    def values(self, keys: pa.Array, found: pa.Array, groups: Groups) -> pa.Array:
        order, sizes = _greatest(keys, found, groups, 1)
        places = np.full(groups.count, -1, np.int64)
        places[sizes > 0] = order
        return keys.take(pa.array(places, mask=places < 0))


@dataclass(frozen=True, slots=True)
class GreatestFew:
    """The `n` keys with the greatest results, greatest first; keys with equal results ascend."""

    key: pa.Field
    found: pa.Field
    n: int

    @property
    def output(self) -> pa.DataType:
        return pa.list_(pa.struct([self.key, self.found]))

    def values(self, keys: pa.Array, found: pa.Array, groups: Groups) -> pa.Array:
        order, sizes = _greatest(keys, found, groups, self.n)
        places = pa.array(order)
        rows = pa.StructArray.from_arrays([keys.take(places), found.take(places)], fields=[self.key, self.found])
        return in_lists(rows, sizes)


def _greatest(keys: pa.Array, found: pa.Array, groups: Groups, n: int) -> tuple[Ints, Ints]:
    """The rows with the `n` greatest of each group, and how many each group has."""
    order = by_group_then(groups, -ranks(found), ranks(keys))
    sizes = groups.sizes()
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order[place < n], np.minimum(sizes, n)
