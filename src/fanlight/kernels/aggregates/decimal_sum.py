"""Sums and means of decimals, exact."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.arrow_numpy import added, non_null
from fanlight.kernels.aggregates.count_sum_mean import Means, N
from fanlight.kernels.aggregates.min_max_arrow import null_unless, reduced

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Bools, Column, Groups, Ints

DIGITS = 38
"""How many digits a value has at most, and a sum when it is finished."""

_ROOM = 57
"""How many digits a sum has inside: those of 10**18 values, and with 19 more for a quotient still within Arrow's 76."""

_COUNT = 18
"""How many digits a count has at most."""


@dataclass(frozen=True, slots=True)
class DecimalSums:
    """The exact sum of decimals, in decimal256; a finished sum of more than 38 digits is `outside`."""

    scale: int

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("sum", self._wide, nullable=False), N)

    @property
    def output(self) -> pa.DataType:
        return pa.decimal128(DIGITS, self.scale)

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        # Arrow does not check for overflow, so where the digits may not suffice it gets twice as many.
        narrow = values.cast(self.output)
        column = narrow if _fits(narrow) else narrow.cast(self._wide)
        return [self._sum(column, groups), non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        sums, n = partials
        return [self._sum(sums, groups), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [pc.add(left[0], right[0]).cast(self._wide), left[1] + right[1]]

    def identity(self, count: int) -> list[Column]:
        return [pa.nulls(count, self._wide).fill_null(self._zero), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, n = partials
        held = n > 0
        try:
            finished = sums.cast(self.output)
        except pa.ArrowInvalid:
            inside = self._inside(sums)
            finished, held = null_unless(inside, sums).cast(self.output), held & inside
        return finished if held.all() else null_unless(held, finished)

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        sums, _ = partials
        rows = np.flatnonzero(~self._inside(sums))
        return dict(zip(rows.tolist(), map(str, sums.take(pa.array(rows)).to_pylist()), strict=True))

    @property
    def takes_back(self) -> bool:
        return True

    def negated(self, partials: list[Any]) -> list[Column]:
        sums, n = partials
        return [pc.negate(sums), -n]

    @property
    def _zero(self) -> pa.Scalar:
        return pa.scalar(Decimal(0), self._wide)

    @property
    def _wide(self) -> pa.DataType:
        return pa.decimal256(_ROOM, self.scale)

    def _sum(self, column: pa.Array, groups: Groups) -> pa.Array:
        return reduced(column, groups, "sum").cast(self._wide).fill_null(self._zero)

    def _inside(self, sums: pa.Array) -> Bools:
        """Which sums have no more than 38 digits."""
        most = pa.scalar(Decimal((0, (9,) * DIGITS, -self.scale)), self._wide)
        inside: Bools = pc.less_equal(pc.abs(sums), most).to_numpy(zero_copy_only=False)
        return inside


def decimal_means(precision: int, scale: int) -> Means:
    """The mean of decimals with four more digits after the point, as far as 38 leave room before it.

    Halves are rounded away from zero. Exact: the quotient is cut off far beyond those digits, and no cut moves a value
    past a half. A mean always fits, because it is no greater than the greatest value.
    """
    output = pa.decimal128(DIGITS, min(scale + 4, DIGITS, DIGITS - precision + scale))

    def quotient(partials: list[Any]) -> pa.Array:
        sums, n = partials
        divisor = pa.array(np.maximum(n, 1)).cast(pa.decimal256(_COUNT + 1, 0)).cast(pa.decimal256(_COUNT, 0))
        means = pc.round(pc.divide(sums, divisor), ndigits=output.scale, round_mode="half_towards_infinity")
        return null_unless(n > 0, means.cast(output))

    return Means(DecimalSums(scale), output, quotient)


def _fits(column: pa.Array) -> bool:
    """Whether the sum of any of these values has no more than 38 digits."""
    ends = pc.min_max(column).as_py().values()
    reach, limit = max((_unscaled(end) for end in ends if end is not None), default=0), int(10**DIGITS)
    return reach * len(column) < limit


def _unscaled(value: Decimal) -> int:
    return int("".join(map(str, value.as_tuple().digits)))
