"""The weighted mean: two sums, of values times weights and of weights, divided only at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import added, complete, from_numpy
from fanlight.kernels.aggregates.as_float64 import to_floats

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans


@dataclass(frozen=True, slots=True)
class WeightedMeans:
    """The mean of structs of value and weight, in float64; null where the weights add up to 0 or there are none."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return tuple(pa.field(name, pa.float64(), nullable=False) for name in ("sum", "weight"))

    @property
    def output(self) -> pa.DataType:
        return pa.float64()

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        columns, _, groups = complete(values.flatten(), times, groups)
        numbers, weights = map(to_floats, columns)
        with np.errstate(invalid="ignore", over="ignore"):
            return [added(numbers * weights, groups), added(weights, groups)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [added(column, groups) for column in partials]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        with np.errstate(invalid="ignore", over="ignore"):
            return [one + other for one, other in zip(left, right, strict=True)]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        return [spans.reduced(column, np.add) for column in partials]

    def identity(self, count: int) -> list[Column]:
        return [np.zeros(count), np.zeros(count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        sums, weights = partials
        weighs = weights != 0
        with np.errstate(invalid="ignore", over="ignore"):
            return from_numpy(sums / np.where(weighs, weights, 1.0), self.output, weighs)
