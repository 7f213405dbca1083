"""Counts, sums and means: what is added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.errors import EngineError, InputError
from fanlight.kernels.ranges_scanning import scanned
from fanlight.kernels.reducers.values import added, from_numpy, non_null, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.groups import Column, Groups, Ints
    from fanlight.kernels.ranges_spans import Spans
    from fanlight.kernels.reducers.reducer import Reducer

N = pa.field("n", pa.int64(), nullable=False)
"""How many values a partial has seen."""

_GREATEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows; of a column, how many values."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (N,)

    @property
    def output(self) -> pa.DataType:
        return pa.int64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        return [sizes if values is None else non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [added(partials[0], groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [left[0] + right[0]]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        return [spans.added(partials[0])]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        return pa.array(partials[0])


@dataclass(frozen=True, slots=True)
class WholeSums:
    """The exact sum of integers or durations in int64; a sum outside int64 is an error, never wrapped.

    NumPy adds modulo 2**64, which is right whenever the true sum lies in int64. So each sum is taken as it comes,
    and only where the greatest value times the number of rows could leave int64 is the true sum looked at.
    """

    aggregate: str
    column: str
    output: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("sum", pa.int64(), nullable=False), N)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        n = non_null(values, groups, sizes)
        return [self._sum(self._whole(values), groups, int(n.max(initial=0))), n]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        sums, n = partials
        return [self._sum(sums, groups, len(sums)), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        sums = left[0] + right[0]
        # A wrapped sum differs in sign from both of its terms.
        if (((left[0] ^ sums) & (right[0] ^ sums)) < 0).any():
            raise self._overflow()
        return [sums, left[1] + right[1]]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        sums, n = partials
        if _reach(sums) * spans.longest > _GREATEST:
            high, low = spans.added(sums >> 32), spans.added(sums & 0xFFFFFFFF)
            if _is_outside(high, low):
                raise self._overflow()
        return [spans.added(sums), spans.added(n)]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count, np.int64), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, n = partials
        return from_numpy(sums, self.output, n > 0)

    def _whole(self, values: pa.Array) -> Ints:
        whole = to_numpy(values)
        if whole.dtype != np.uint64:
            return whole.astype(np.int64, copy=False)
        greatest = int(whole.max(initial=0))
        if greatest > _GREATEST:
            raise InputError(
                f"{self.aggregate}: `{self.column}` (uint64) holds {greatest}, which is above int64, the type of its "
                f"sum. Cast `{self.column}` to decimal128(28, 0)."
            )
        return whole.view(np.int64)

    def _sum(self, whole: Ints, groups: Groups, rows: int) -> Ints:
        """The sums of groups that have at most `rows` rows each."""
        if _reach(whole) * rows > _GREATEST and _leaves_int64(whole, groups):
            raise self._overflow()
        return added(whole, groups)

    def _overflow(self) -> EngineError:
        return EngineError(
            f"{self.aggregate}: the sum of `{self.column}` in one pane leaves int64 "
            f"({-_GREATEST - 1} to {_GREATEST}); going on would give a wrong number. "
            f"Cast `{self.column}` to decimal128(28, 0) before it is summed."
        )


def _reach(whole: Ints) -> int:
    """How far from zero the farthest number is."""
    return max(int(whole.max(initial=0)), -int(whole.min(initial=0)))


def _leaves_int64(whole: Ints, groups: Groups) -> bool:
    """Whether the true sum of a group is outside int64, by adding both halves of each value apart."""
    return _is_outside(added(whole >> 32, groups), added(whole & 0xFFFFFFFF, groups))


def _is_outside(high: Ints, low: Ints) -> bool:
    """Whether a sum is outside int64, from the sums of the upper and of the lower halves of its terms."""
    top = high + (low >> 32)
    return bool(((top < -(2**31)) | (top >= 2**31)).any())


@dataclass(frozen=True, slots=True)
class FloatSums:
    """The sum of floats, in float64."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("sum", pa.float64(), nullable=False), N)

    @property
    def output(self) -> pa.DataType:
        return pa.float64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        floats = to_numpy(values).astype(np.float64, copy=False)
        return [added(floats, groups), non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        sums, n = partials
        return [added(sums, groups), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        with np.errstate(invalid="ignore", over="ignore"):
            return [left[0] + right[0], left[1] + right[1]]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        sums, n = partials
        return [spans.reduced(sums, np.add), spans.added(n)]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count, np.float64), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, n = partials
        return from_numpy(sums, self.output, n > 0)


Quotient = Callable[[Any, "Ints"], "pa.Array"]
"""Sums and counts to means; null where the count is 0."""


@dataclass(frozen=True, slots=True)
class Means:
    """The mean: the partials of a sum, divided only when they are finished."""

    sums: Reducer
    output: pa.DataType
    quotient: Quotient

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return self.sums.fields

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        return self.sums.partial(values, times, groups, sizes)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return self.sums.merge(partials, groups)

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return self.sums.combine(left, right)

    def scan(self, partials: list[Any], spans: Spans) -> list[Column] | None:
        return scanned(self.sums, partials, spans)

    def identity(self, count: int) -> list[Column]:
        return self.sums.identity(count)

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, n = partials
        return self.quotient(sums, n)


def float_means() -> Means:
    """The mean of floats."""
    return Means(FloatSums(), pa.float64(), _float_quotient)


def whole_means(aggregate: str, column: str) -> Means:
    """The mean of integers as float64, from their exact sum."""
    return Means(WholeSums(aggregate, column, pa.int64()), pa.float64(), _float_quotient)


def duration_means(aggregate: str, column: str, kind: pa.DataType) -> Means:
    """The mean of durations in their own unit, from the exact sum; halves are rounded away from zero."""

    def quotient(sums: Any, n: Ints) -> pa.Array:
        return from_numpy(_rounded_quotient(sums, np.maximum(n, 1)), kind, n > 0)

    return Means(WholeSums(aggregate, column, kind), kind, quotient)


def _float_quotient(sums: Any, n: Ints) -> pa.Array:
    if n.min(initial=1) > 0:
        return pa.array(sums / n, pa.float64())
    return from_numpy(sums / np.maximum(n, 1), pa.float64(), n > 0)


def _rounded_quotient(sums: NDArray[np.int64], n: Ints) -> NDArray[np.int64]:
    floor, rest = np.divmod(sums, n)
    twice = 2 * rest
    return floor + np.where(sums < 0, twice > n, twice >= n)
