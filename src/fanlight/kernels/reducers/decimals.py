"""Sums and means of decimals: exact, or an error."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError
from fanlight.kernels.reducers.arrow import null_unless, reduced
from fanlight.kernels.reducers.numeric import Means, N
from fanlight.kernels.reducers.values import added, non_null

if TYPE_CHECKING:
    from fanlight.kernels.groups import Column, Groups, Ints

DIGITS = 38
"""How many digits a sum has."""

WIDEST = 28
"""How many digits a value may have, so that the sum of 10**10 of them fits."""


@dataclass(frozen=True, slots=True)
class DecimalSums:
    """The exact sum of decimals in 38 digits; one with more digits is an error, never wrapped."""

    aggregate: str
    column: str
    scale: int

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("sum", self.output, nullable=False), N)

    @property
    def output(self) -> pa.DataType:
        return pa.decimal128(DIGITS, self.scale)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        return [self._sum(values.cast(self.output), groups), non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        sums, n = partials
        return [self._sum(sums, groups), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        sums = pc.add(left[0].cast(self._wide), right[0].cast(self._wide))
        return [self._narrowed(sums), left[1] + right[1]]

    def identity(self, count: int) -> list[Column]:
        return [pa.nulls(count, self.output).fill_null(self._zero), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, n = partials
        return null_unless(n > 0, sums)

    @property
    def _zero(self) -> pa.Scalar:
        return pa.scalar(Decimal(0), self.output)

    @property
    def _wide(self) -> pa.DataType:
        return pa.decimal256(DIGITS, self.scale)

    def _sum(self, column: pa.Array, groups: Groups) -> pa.Array:
        # Arrow adds without looking, so where the digits might not do, it is given twice as many.
        sums = reduced(column if self._fits(column) else column.cast(self._wide), groups, "sum")
        return self._narrowed(sums).fill_null(self._zero)

    def _fits(self, column: pa.Array) -> bool:
        ends = pc.min_max(column).as_py().values()
        reach, limit = max((_unscaled(end) for end in ends if end is not None), default=0), int(10**DIGITS)
        return reach * len(column) < limit

    def _narrowed(self, sums: pa.Array) -> pa.Array:
        try:
            return sums.cast(self.output)
        except pa.ArrowInvalid as error:
            raise EngineError(
                f"{self.aggregate}: the sum of `{self.column}` in one pane needs more than the {DIGITS} digits of "
                f"{self.output}; going on would give a wrong number. Cast `{self.column}` to a decimal of fewer digits."
            ) from error


def decimal_means(aggregate: str, column: str, scale: int) -> Means:
    """The mean of decimals with four more digits after the point; halves are rounded away from zero.

    Exact: the quotient is cut off far beyond those digits, and no cut moves a value past a half.
    """
    output = pa.decimal128(DIGITS, min(scale + 4, DIGITS - 1))

    def quotient(sums: Any, n: Ints) -> pa.Array:
        dividend = sums.cast(pa.decimal256(DIGITS, scale))
        divisor = pa.array(np.maximum(n, 1)).cast(pa.decimal256(19, 0))
        means = pc.round(pc.divide(dividend, divisor), ndigits=output.scale, round_mode="half_towards_infinity")
        return null_unless(n > 0, means.cast(output))

    return Means(DecimalSums(aggregate, column, scale), output, quotient)


def _unscaled(value: Decimal) -> int:
    return int("".join(map(str, value.as_tuple().digits)))
