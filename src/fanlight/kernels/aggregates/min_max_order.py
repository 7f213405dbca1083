"""Minimum and maximum: how values of a type are stored and compared.

NaN is greater than every number. An order has an identity element, which is never chosen while there is a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import added, dtype_of, from_numpy, non_null, to_numpy
from fanlight.kernels.aggregates.count_sum_mean import N

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Bools, Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans


class Order(Protocol):
    """The order of one type's values, and which end of it is wanted: the least or the greatest."""

    @property
    def kind(self) -> pa.DataType:
        """The type of the values."""
        ...

    def field(self, name: str) -> pa.Field:
        """The column that keeps them."""
        ...

    def load(self, values: pa.Array) -> Column:
        """The values as a column, nulls as the identity."""
        ...

    def identity(self, count: int) -> Column:
        """The identity, `count` times."""
        ...

    def reduce(self, column: Column, groups: Groups) -> Column:
        """The wanted value of each group."""
        ...

    def pick(self, left: Column, right: Column) -> Column:
        """The wanted one of each pair."""
        ...

    def scan(self, column: Column, spans: Spans) -> Column:
        """The wanted value of each range of rows."""
        ...

    def only(self, mask: Bools, column: Column) -> Column:
        """The column where `mask` holds, the identity elsewhere."""
        ...

    def rows(self, column: Column, places: Ints) -> Column:
        """The rows at `places`."""
        ...

    def store(self, column: Column, valid: Bools) -> pa.Array:
        """The column as values again, null where not `valid`."""
        ...


@dataclass(frozen=True, slots=True)
class NumpyOrder:
    """The order of a type of fixed width."""

    kind: pa.DataType
    least: bool
    ufunc: np.ufunc
    nothing: NDArray[Any]  # the identity element, as an array without dimensions

    @classmethod
    def of(cls, kind: pa.DataType, *, least: bool) -> NumpyOrder:
        """The order of `kind`, wanting its least or its greatest value."""
        dtype = dtype_of(kind)
        assert dtype is not None
        if dtype.kind == "f":
            # fmin ignores NaN and maximum keeps it: so NaN is the greatest value, and the identity of the minimum.
            nothing, ufunc = (np.nan, np.fmin) if least else (-np.inf, np.maximum)
            return cls(kind, least, ufunc, np.array(nothing, dtype))
        edges = (0, 1) if pa.types.is_boolean(kind) else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return cls(kind, least, np.minimum if least else np.maximum, np.array(edges[least], dtype))

    def field(self, name: str) -> pa.Field:
        return pa.field(name, pa.from_numpy_dtype(self.nothing.dtype), nullable=False)

    def load(self, values: pa.Array) -> Column:
        return to_numpy(values, self.nothing.item())

    def identity(self, count: int) -> Column:
        return np.full(count, self.nothing)

    def reduce(self, column: Any, groups: Groups) -> Column:
        wanted = np.full(groups.count, self.nothing)
        with np.errstate(invalid="ignore"):  # NumPy may warn about NaN, which is a value here
            self.ufunc.at(wanted, groups.codes, column)
        return wanted

    def pick(self, left: Any, right: Any) -> Column:
        with np.errstate(invalid="ignore"):
            picked: NDArray[Any] = self.ufunc(left, right)
        return picked

    def scan(self, column: Any, spans: Spans) -> Column:
        return spans.reduced(column, self.ufunc)

    def only(self, mask: Bools, column: Any) -> Column:
        return np.where(mask, column, self.nothing)

    def rows(self, column: Any, places: Ints) -> Column:
        taken: NDArray[Any] = column[places]
        return taken

    def store(self, column: Any, valid: Bools) -> pa.Array:
        return from_numpy(column, self.kind, valid)


@dataclass(frozen=True, slots=True)
class Extremes:
    """The wanted value of each group: min and max, and any and all over booleans."""

    name: str
    order: Order

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (self.order.field(self.name), N)

    @property
    def output(self) -> pa.DataType:
        return self.order.kind

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        return [self.order.reduce(self.order.load(values), groups), non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        wanted, n = partials
        return [self.order.reduce(wanted, groups), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [self.order.pick(left[0], right[0]), left[1] + right[1]]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        wanted, n = partials
        return [self.order.scan(wanted, spans), spans.added(n)]

    def identity(self, count: int) -> list[Column]:
        return [self.order.identity(count), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        wanted, n = partials
        return self.order.store(wanted, n > 0)
