"""The value of the record that is least or greatest in another column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.arrow_numpy import complete
from fanlight.kernels.aggregates.sorting import by_group_then, ranks
from fanlight.kernels.grouping.groups import Groups

if TYPE_CHECKING:
    from fanlight.kernels.aggregates.min_max_order import Order
    from fanlight.kernels.grouping.groups import Bools, Column, Ints
    from fanlight.kernels.range_merge.spans import Spans


@dataclass(frozen=True, slots=True)
class Arguments:
    """The value whose `by` is least (or greatest), from structs of both; among equal `by`, the least (greatest) value.

    A partial without a value is null in its value, whatever its `by` says.
    """

    kind: pa.DataType
    by: Order
    least: bool

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (self.by.field("by"), pa.field("value", self.kind))

    @property
    def output(self) -> pa.DataType:
        return self.kind

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        (found, by), _, groups = complete(values.flatten(), times, groups)
        return self._wanted(self.by.load(by), found, groups)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        by, values = partials
        held = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        owners = Groups(groups.codes[held], groups.count)
        return self._wanted(self.by.rows(by, held), values.take(pa.array(held)), owners)

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        count = len(left[1])
        both = [
            pa.concat_arrays([one, other]) if isinstance(one, pa.Array) else np.concatenate([one, other])
            for one, other in zip(left, right, strict=True)
        ]
        return self.merge(both, Groups(np.tile(np.arange(count), 2), count))

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        by, values = partials
        held = values.is_valid().to_numpy(zero_copy_only=False)
        ends = ranks(by if isinstance(by, pa.Array) else pa.array(by))
        # A row without a value gets the opposite extreme, so that it is never chosen.
        order = np.lexsort((ranks(values), ends, held != self.least))
        rows = spans.chosen(order, first=self.least)
        return [self.by.rows(by, rows), values.take(pa.array(rows))]

    def identity(self, count: int) -> list[Column]:
        return [self.by.identity(count), pa.nulls(count, self.kind)]

    def finish(self, partials: list[Any]) -> pa.Array:
        return partials[1]

    def _wanted(self, by: Column, values: pa.Array, groups: Groups) -> list[Column]:
        end = self.by.reduce(by, groups)
        at_end = np.flatnonzero(_equal(by, self.by.rows(end, groups.codes)))
        tied = Groups(groups.codes[at_end], groups.count)
        rank = ranks(values.take(pa.array(at_end)))
        order = by_group_then(tied, rank if self.least else -rank)
        first = order[np.flatnonzero(np.diff(tied.codes[order], prepend=-1))]
        places = np.full(groups.count, -1, np.int64)
        places[tied.codes[first]] = at_end[first]
        return [end, values.take(pa.array(places, mask=places < 0))]


def _equal(left: Any, right: Any) -> Bools:
    """Which values are the same; NaN is the same as NaN."""
    if isinstance(left, pa.Array):
        equal: Bools = pc.equal(left, right).to_numpy(zero_copy_only=False)
        return equal
    both: Bools = (left == right) | ((left != left) & (right != right))
    return both
