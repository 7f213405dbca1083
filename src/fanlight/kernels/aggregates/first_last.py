"""First and last: the value at the least or greatest event time.

Of several values at that time the least (for first) or the greatest (for last) is taken, so the order in which
records arrive never matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import added, is_valid, non_null
from fanlight.kernels.aggregates.count_sum_mean import N
from fanlight.kernels.aggregates.min_max_order import NumpyOrder
from fanlight.kernels.aggregates.sorting import by_time_and_value
from fanlight.kernels.grouping.groups import Groups

if TYPE_CHECKING:
    from fanlight.kernels.aggregates.min_max_order import Order
    from fanlight.kernels.grouping.groups import Column, Ints
    from fanlight.kernels.range_merge.spans import Spans


@dataclass(frozen=True, slots=True)
class Edges:
    """The value at the least or greatest time of each group; rows without a value do not count."""

    order: Order
    times: NumpyOrder

    @classmethod
    def of(cls, order: Order, *, first: bool) -> Edges:
        """First or last; `order` compares the values."""
        return cls(order, NumpyOrder.of(pa.int64(), least=first))

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (self.times.field("time"), self.order.field("value"), N)

    @property
    def output(self) -> pa.DataType:
        return self.order.kind

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        if values.null_count:
            times = np.where(is_valid(values), times, self.times.nothing)
        return [*self._edge(times, self.order.load(values), groups), non_null(values, groups, sizes)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        times, values, n = partials
        return [*self._edge(times, values, groups), added(n, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        (times, values, n), (other_times, other_values, other_n) = left, right
        edge = self.times.pick(times, other_times)
        picked = self.order.pick(
            self.order.only(times == edge, values), self.order.only(other_times == edge, other_values)
        )
        return [edge, picked, n + other_n]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        times, values, n = partials
        column = values if isinstance(values, pa.Array) else pa.array(values)
        rows = spans.chosen(by_time_and_value(column, times, np.arange(len(times))), first=self.times.least)
        return [times[rows], self.order.rows(values, rows), spans.added(n)]

    def identity(self, count: int) -> list[Column]:
        return [self.times.identity(count), self.order.identity(count), np.zeros(count, np.int64)]

    def finish(self, partials: list[Any]) -> pa.Array:
        _, values, n = partials
        return self.order.store(values, n > 0)

    def _edge(self, times: Ints, values: Any, groups: Groups) -> tuple[Column, Column]:
        edge: Any = self.times.reduce(times, groups)
        places = np.flatnonzero(times == edge[groups.codes])
        at_edge = Groups(groups.codes[places], groups.count)
        return edge, self.order.reduce(self.order.rows(values, places), at_edge)
