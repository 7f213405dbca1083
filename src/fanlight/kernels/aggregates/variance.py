"""Variance and standard deviation: count, mean and squared deviations, merged without cancellation.

Squares of the values are never summed. The deviations are taken from the group's own mean, and two partials are
joined by the distance between their means (Chan, Golub and LeVeque), so a large mean costs no digits of the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import added, from_numpy, non_null, without_nulls
from fanlight.kernels.aggregates.as_float64 import to_floats
from fanlight.kernels.aggregates.count_sum_mean import N

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanlight.kernels.grouping.groups import Column, Groups, Ints

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """The variance or its root: of the whole population, or of a sample, which needs two values."""

    population: bool
    root: bool

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        floats = (pa.field(name, pa.float64(), nullable=False) for name in ("mean", "m2"))
        return (N, *floats)

    @property
    def output(self) -> pa.DataType:
        return pa.float64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        n = non_null(values, groups, sizes)
        present, groups = without_nulls(values, groups)
        return _joined(n, to_floats(present), groups)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        n, mean, m2 = partials
        total, held = added(n, groups), n > 0
        # A part without values has no mean: its distance must not enter the sum, not even multiplied by zero.
        return _joined(total, mean[held], groups.where(held), n[held].astype(np.float64), m2[held])

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        (n, mean, m2), (other_n, other_mean, other_m2) = left, right
        total = n + other_n
        share = other_n / np.maximum(total, 1)
        both = (n > 0) & (other_n > 0)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.where(both, other_mean - mean, 0.0)
            joined = np.where(n > 0, mean, other_mean) + distance * share
            return [total, joined, m2 + other_m2 + np.where(both, distance * distance * n * share, 0.0)]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count, np.int64), np.zeros(count), np.zeros(count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        n, _, m2 = partials
        spare = 0 if self.population else 1
        variance = m2 / np.maximum(n - spare, 1)
        return from_numpy(np.sqrt(variance) if self.root else variance, self.output, n > spare)


def _joined(
    total: Ints, means: Floats, groups: Groups, weights: Floats | None = None, m2: Floats | None = None
) -> list[Column]:
    """The moments of each group, from parts that have `weights` values around `means`, or one value each.

    `total` is the weight of each group. Two passes: the mean, then the distances from it. The sum of the distances is
    the rounding error of the first pass, and it is corrected.
    """
    rows = np.maximum(total, 1)
    with np.errstate(invalid="ignore", over="ignore"):
        rough = added(means if weights is None else means * weights, groups) / rows
        distance = rough[groups.codes]
        np.subtract(means, distance, out=distance)
        drift = added(distance if weights is None else distance * weights, groups)
        np.multiply(distance, distance, out=distance)
        if weights is not None:
            distance *= weights
        if m2 is not None:
            distance += m2
        spread = added(distance, groups)
        return [total, rough + drift / rows, np.maximum(spread - drift * drift / rows, 0.0)]
