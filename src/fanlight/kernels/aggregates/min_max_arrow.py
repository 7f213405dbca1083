"""Minimum and maximum of text, bytes and decimals: these columns stay in Arrow, and null is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Bools, Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans


_ORDERED = (
    pa.types.is_decimal128,
    pa.types.is_decimal256,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
)


def is_ordered(kind: pa.DataType) -> bool:
    """Whether values of `kind` stay in Arrow and Arrow can order them."""
    return any(is_one(kind) for is_one in _ORDERED)


def null_unless(mask: Bools, column: pa.Array) -> pa.Array:
    """The column where `mask` holds, null elsewhere."""
    return pc.if_else(pa.array(mask), column, pa.scalar(None, column.type))


def reduced(column: pa.Array, groups: Groups, function: str) -> pa.Array:
    """Arrow's grouped `function` over the column, one value for each group; null where a group has none."""
    table = pa.table({"group": groups.codes, "value": column})
    result = table.group_by("group", use_threads=False).aggregate([("value", function)])
    places = np.full(groups.count, -1, np.int64)
    places[result.column("group").to_numpy()] = np.arange(result.num_rows)
    values = result.column(f"value_{function}").combine_chunks()
    return values.take(pa.array(places, mask=places < 0))


@dataclass(frozen=True, slots=True)
class ArrowOrder:
    """The order of a type that Arrow compares: bytes by bytes, text by code points, decimals by value."""

    kind: pa.DataType
    least: bool

    def field(self, name: str) -> pa.Field:
        return pa.field(name, self.kind)

    def load(self, values: pa.Array) -> Column:
        return values

    def identity(self, count: int) -> Column:
        return pa.nulls(count, self.kind)

    def reduce(self, column: Any, groups: Groups) -> Column:
        return reduced(column, groups, "min" if self.least else "max")

    def pick(self, left: Any, right: Any) -> Column:
        return pc.min_element_wise(left, right) if self.least else pc.max_element_wise(left, right)

    def scan(self, column: Any, spans: Spans) -> Column:
        # Nulls stand last in either direction.
        order = pc.sort_indices(column, sort_keys=[("", "ascending" if self.least else "descending")])
        return self.rows(column, spans.chosen(np.asarray(order).astype(np.int64), first=True))

    def only(self, mask: Bools, column: Any) -> Column:
        return null_unless(mask, column)

    def rows(self, column: Any, places: Ints) -> Column:
        return column.take(pa.array(places))

    def store(self, column: Any, valid: Bools) -> pa.Array:
        return column
