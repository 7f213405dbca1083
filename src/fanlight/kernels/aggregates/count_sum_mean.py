"""Counts, sums and means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates import int128 as words
from fanlight.kernels.aggregates.arrow_numpy import added, from_numpy, non_null, to_numpy
from fanlight.kernels.range_merge.pairwise import merged_ranges
from fanlight.kernels.reducer import Retractable, takes_back

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans
    from fanlight.kernels.reducer import Reducer

N = pa.field("n", pa.int64(), nullable=False)
"""How many values are in a partial."""


@dataclass(frozen=True, slots=True)
class CountRows:
    """The number of rows; or of the values of a column that are not null."""

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

    @property
    def takes_back(self) -> bool:
        return True

    def negated(self, partials: list[Any]) -> list[Column]:
        return [-partials[0]]


@dataclass(frozen=True, slots=True)
class WholeSums:
    """The exact sum of integers or durations, in 128 bits; a finished sum that int64 cannot hold is `outside`."""

    output: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("sum", pa.int64(), nullable=False), pa.field("high", pa.int64(), nullable=False), N)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        n = non_null(values, groups, sizes)
        return [*words.summed(*whole_words(values), groups, int(n.max(initial=0))), n]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        low, high, n = partials
        return [*words.summed(low, high, groups, len(low)), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [*words.paired_sums(*left[:2], *right[:2]), left[2] + right[2]]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        low, high, n = partials
        return [*words.scanned_sums(low, high, spans), spans.added(n)]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count, np.int64), words.zeros(count), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        low, high, n = partials
        held = n > 0
        return from_numpy(low, self.output, held if words.is_small(high) else held & (high == 0))

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        low, high, _ = partials
        if words.is_small(high):
            return {}
        rows = np.flatnonzero(high)
        return dict(zip(rows.tolist(), map(str, words.exact(low[rows], high[rows])), strict=True))

    @property
    def takes_back(self) -> bool:
        return True

    def negated(self, partials: list[Any]) -> list[Column]:
        low, high, n = partials
        return [*words.negated(low, high), -n]


def whole_words(values: pa.Array) -> tuple[Ints, Ints]:
    """Integers of any width, or durations, as low and high words; 0 in the place of nulls."""
    whole = to_numpy(values)
    if whole.dtype != np.uint64:
        return whole.astype(np.int64, copy=False), words.zeros(len(whole))
    low = whole.view(np.int64)
    above = low < 0
    return low, above.astype(np.int64) if above.any() else words.zeros(len(low))


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


Quotient = Callable[[list[Any]], "pa.Array"]
"""Turns the partials of sums into means; null where the count (the last column) is 0."""


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

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        return merged_ranges(self.sums, partials, spans)

    def identity(self, count: int) -> list[Column]:
        return self.sums.identity(count)

    def finish(self, partials: list[Any]) -> pa.Array:
        return self.quotient(partials)

    @property
    def takes_back(self) -> bool:
        return takes_back(self.sums)

    def negated(self, partials: list[Any]) -> list[Column]:
        assert isinstance(self.sums, Retractable)
        return self.sums.negated(partials)


def float_means() -> Means:
    """The mean of floats."""
    return Means(FloatSums(), pa.float64(), _float_quotient)


def whole_means() -> Means:
    """The mean of integers: the float64 nearest to that of their exact sum."""
    return Means(WholeSums(pa.int64()), pa.float64(), _whole_quotient)


def duration_means(kind: pa.DataType) -> Means:
    """The mean of durations in their own unit, from the exact sum; halves are rounded away from zero."""

    def quotient(partials: list[Any]) -> pa.Array:
        low, high, n = partials
        return from_numpy(_rounded_quotient(low, high, np.maximum(n, 1)), kind, n > 0)

    return Means(WholeSums(kind), kind, quotient)


def _float_quotient(partials: list[Any]) -> pa.Array:
    sums, n = partials
    if n.min(initial=1) > 0:
        return pa.array(sums / n, pa.float64())
    return from_numpy(sums / np.maximum(n, 1), pa.float64(), n > 0)


def _whole_quotient(partials: list[Any]) -> pa.Array:
    low, high, n = partials
    return from_numpy(words.float_quotients(low, high, np.maximum(n, 1)), pa.float64(), n > 0)


def _rounded_quotient(low: Ints, high: Ints, n: Ints) -> Ints:
    floor, _, rest = words.quotients(low, high, n)
    twice = 2 * rest
    return floor + np.where((high < 0) | ((high == 0) & (low < 0)), twice > n, twice >= n)
