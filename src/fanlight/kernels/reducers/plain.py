"""Encodings of a type: dictionaries, views and narrow decimals hold plain values, and are worked on as those.

So a result has the plain type: the greatest of a dictionary of strings is a string.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.kernels.ranges_scanning import scanned
from fanlight.kernels.reducers.reducer import outside, outside_messages

if TYPE_CHECKING:
    from fanlight.kernels.groups import Column, Groups, Ints
    from fanlight.kernels.ranges_spans import Spans
    from fanlight.kernels.reducers.reducer import MessageReducer, Reducer


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values that `kind` encodes; most types are plain."""
    if isinstance(kind, pa.DictionaryType):
        return plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if isinstance(kind, (pa.Decimal32Type, pa.Decimal64Type)):
        return pa.decimal128(kind.precision, kind.scale)
    return kind


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

    def scan(self, partials: list[Any], spans: Spans) -> list[Column] | None:
        return scanned(self.reducer, partials, spans)

    def identity(self, count: int) -> list[Column]:
        return self.reducer.identity(count)

    def finish(self, partials: list[Any]) -> pa.Array:
        return self.reducer.finish(partials)

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        return outside(self.reducer, partials)


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
