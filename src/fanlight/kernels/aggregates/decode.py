"""Aggregates over encoded columns: they decode the values first, see `plain_type`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.kernels.range_merge.pairwise import merged_ranges
from fanlight.kernels.reducer import Retractable, outside, outside_messages, takes_back

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans
    from fanlight.kernels.reducer import MessageReducer, Reducer


@dataclass(frozen=True, slots=True)
class PlainReducer:
    """A reducer whose input is decoded first."""

    reducer: Reducer
    kind: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return self.reducer.fields

    @property
    def output(self) -> pa.DataType:
        return self.reducer.output

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        return self.reducer.partial(values.cast(self.kind), times, groups, sizes)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return self.reducer.merge(partials, groups)

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return self.reducer.combine(left, right)

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        return merged_ranges(self.reducer, partials, spans)

    def identity(self, count: int) -> list[Column]:
        return self.reducer.identity(count)

    def finish(self, partials: list[Any]) -> pa.Array:
        return self.reducer.finish(partials)

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        return outside(self.reducer, partials)

    @property
    def takes_back(self) -> bool:
        return takes_back(self.reducer)

    def negated(self, partials: list[Any]) -> list[Column]:
        assert isinstance(self.reducer, Retractable)
        return self.reducer.negated(partials)


@dataclass(frozen=True, slots=True)
class PlainMessages:
    """A message reducer whose input is decoded first."""

    reducer: MessageReducer
    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return self.reducer.output

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        return self.reducer.compute(values.cast(self.kind), times, arrivals, groups)

    def outside_of(
        self, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
    ) -> dict[int, Any]:
        return outside_messages(self.reducer, found, values.cast(self.kind), times, arrivals, groups)
