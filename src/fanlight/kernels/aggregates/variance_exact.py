"""Variance and standard deviation of whole numbers: exact sums, and squared deviations from the exact mean.

No float64 tells a mean near 2**60 from its neighbours. So the sum (in 128 bits) and the count are kept, and the mean is
read as the nearest whole number (`centre`) and the remainder (`rest`, at most a half). Deviations from whole numbers
are whole numbers, and they are small where the variance is small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates import int128 as words
from fanlight.kernels.aggregates.arrow_numpy import added, from_numpy, without_nulls
from fanlight.kernels.aggregates.count_sum_mean import WholeSums, whole_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Column, Groups, Ints

    Floats = NDArray[np.float64]

_WHOLE_DIGITS = 18
"""Decimals of at most this many digits are 64-bit whole numbers once their point is left out."""

_NEAR = 2.0**62
"""Up to this distance the low words alone suffice."""

_SUMS = WholeSums(pa.int64())


def has_whole_moments(kind: pa.DataType) -> bool:
    """Whether values of `kind` are 64-bit whole numbers, once a decimal point is left out."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.precision <= _WHOLE_DIGITS))


@dataclass(frozen=True, slots=True)
class WholeMoments:
    """The variance or its root: of the whole population, or of a sample, which needs two values."""

    population: bool
    root: bool
    scale: int
    """How many digits stand after the point."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (*_SUMS.fields, pa.field("m2", pa.float64(), nullable=False))

    @property
    def output(self) -> pa.DataType:
        return pa.float64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        present, groups = without_nulls(_unscaled(values), groups)
        sums: list[Any] = _SUMS.partial(present, times, groups, groups.sizes())
        means = _means(sums)
        distance = _from_means(*whole_words(present), means, groups.codes)
        np.multiply(distance, distance, out=distance)
        return [*sums, np.maximum(added(distance, groups) - sums[2] * means.rest * means.rest, 0.0)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        *sums, m2 = partials
        total: list[Any] = _SUMS.merge(sums, groups)
        parts, means = _means(sums), _means(total)
        return [*total, added(m2 + sums[2] * _apart(parts, means.take(groups.codes)) ** 2, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        total: list[Any] = _SUMS.combine(left[:3], right[:3])
        (n, other_n), count = (left[2], right[2]), np.maximum(total[2], 1)
        apart = _apart(_means(left[:3]), _means(right[:3]))
        return [*total, left[3] + right[3] + apart * apart * n * (other_n / count)]

    def identity(self, count: int) -> list[Column]:
        return [*_SUMS.identity(count), np.zeros(count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        _, _, n, m2 = partials
        spare = 0 if self.population else 1
        variance = m2 / np.maximum(n - spare, 1)
        if self.scale:
            variance /= 10.0 ** (2 * self.scale)
        return from_numpy(np.sqrt(variance) if self.root else variance, self.output, n > spare)


class _Means(NamedTuple):
    """Exact means: the nearest whole number in two words, and how far above it the mean is."""

    centre: Ints
    high: Ints
    rest: Floats

    def take(self, rows: Ints) -> _Means:
        high = words.zeros(len(rows)) if words.is_small(self.high) else self.high[rows]
        return _Means(self.centre[rows], high, self.rest[rows])


def _means(sums: list[Any]) -> _Means:
    low, high, n = sums
    count = np.maximum(n, 1)
    floor, top, rest = words.quotients(low, high, count)
    up = 2 * rest >= count
    centre = floor + up
    carried = up & (centre == -words.GREATEST - 1)
    return _Means(centre, top + carried if carried.any() else top, (rest - up * count) / count)


def _from_means(low: Ints, high: Ints, means: _Means, codes: Ints) -> Floats:
    """How far whole numbers are from the centres of their groups."""
    if words.is_small(high) and words.reach(low) <= words.EXACT:  # and so are their means
        centres: Floats = means.centre.astype(np.float64)[codes]
        return np.subtract(low, centres, out=centres)
    own = means.take(codes)
    return _distance(low, high, own.centre, own.high)


def _apart(means: _Means, others: _Means) -> Floats:
    """The distances between means."""
    return _distance(means.centre, means.high, others.centre, others.high) + (means.rest - others.rest)


def _distance(low: Ints, high: Ints, other: Ints, other_high: Ints) -> Floats:
    """Differences of whole numbers. Where they are far apart, floats are exact enough."""
    near = (low - other).astype(np.float64)
    if words.is_small(high) and words.is_small(other_high) and max(words.reach(low), words.reach(other)) < _NEAR / 2:
        return near
    far = low.astype(np.float64) - other + (high - other_high) * 2.0**64
    return np.where(np.abs(far) < _NEAR, near, far)


def _unscaled(values: pa.Array) -> pa.Array:
    """Decimals as whole numbers, without their decimal point."""
    if not pa.types.is_decimal(values.type):
        return values
    digits = values.cast(pa.decimal128(38, values.type.scale))
    pairs = np.frombuffer(digits.buffers()[1] or b"", np.int64, 2 * len(digits), 16 * digits.offset)
    return pa.array(pairs[0::2], mask=digits.is_null().to_numpy(zero_copy_only=False))
