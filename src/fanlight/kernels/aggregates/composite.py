"""Several reducers as one: a struct with a field for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.kernels.aggregates.inputs import input_values
from fanlight.kernels.range_merge.pairwise import merged_ranges
from fanlight.kernels.reducer import (
    Bounded,
    MessageReducer,
    Reducer,
    Retractable,
    outside,
    outside_messages,
    takes_back,
)

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans


@dataclass(frozen=True, slots=True)
class CompositePart:
    """One aggregate of a composite: its field in the struct, its reducer, and its columns among those of the whole."""

    name: str
    reducer: Reducer | MessageReducer
    columns: tuple[str, ...]

    def input(self, given: dict[str, pa.Array]) -> pa.Array | None:
        """What this part works on, out of the columns of the whole."""
        return input_values(self.columns, [given[name] for name in self.columns])


@dataclass(frozen=True, slots=True)
class _Parts:
    parts: tuple[CompositePart, ...]
    columns: tuple[str, ...]

    @property
    def output(self) -> pa.DataType:
        return pa.struct([pa.field(part.name, part.reducer.output) for part in self.parts])

    def _given(self, values: pa.Array | None) -> dict[str, pa.Array]:
        """The columns of the whole by name."""
        if values is None:
            return {}
        return dict(zip(self.columns, values.flatten() if len(self.columns) > 1 else [values], strict=True))

    def _told(self, values: pa.Array, outside: list[dict[int, Any]]) -> dict[int, Any]:
        """By row: the whole struct as text, where a value of one of its parts does not fit its type."""
        rows = sorted({row for own in outside for row in own})
        names = [part.name for part in self.parts]
        told = values.take(pa.array(rows, pa.int64())).to_pylist()
        return {
            row: struct | {name: own[row] for name, own in zip(names, outside, strict=True) if row in own}
            for row, struct in zip(rows, told, strict=True)
        }

    def _struct(self, values: list[pa.Array]) -> pa.Array:
        return pa.StructArray.from_arrays(values, fields=list(self.output))


@dataclass(frozen=True, slots=True)
class Composites(_Parts):
    """A struct of incremental aggregates; the columns of its partial are those of its parts, one after the other."""

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return tuple(
            field.with_name(f"{part.name}.{field.name}")
            for part, reducer in zip(self.parts, self._reducers, strict=True)
            for field in reducer.fields
        )

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        given = self._given(values)
        return [
            column
            for part, reducer in zip(self.parts, self._reducers, strict=True)
            for column in reducer.partial(part.input(given), times, groups, sizes)
        ]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [column for reducer, own in self._each(partials) for column in reducer.merge(own, groups)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        pairs = zip(self._each(left), self._each(right), strict=True)
        return [column for (reducer, own), (_, other) in pairs for column in reducer.combine(own, other)]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        return [column for reducer, own in self._each(partials) for column in merged_ranges(reducer, own, spans)]

    def identity(self, count: int) -> list[Column]:
        return [column for reducer in self._reducers for column in reducer.identity(count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        return self._struct([reducer.finish(own) for reducer, own in self._each(partials)])

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        each = [outside(reducer, own) for reducer, own in self._each(partials)]
        return self._told(self.finish(partials), each) if any(each) else {}

    @property
    def takes_back(self) -> bool:
        return all(takes_back(reducer) for reducer in self._reducers)

    def negated(self, partials: list[Any]) -> list[Column]:
        each = self._each(partials)
        return [column for one, own in each if isinstance(one, Retractable) for column in one.negated(own)]

    @property
    def _reducers(self) -> list[Reducer]:
        return [part.reducer for part in self.parts if isinstance(part.reducer, Reducer)]

    def _each(self, partials: list[Any]) -> list[tuple[Reducer, list[Any]]]:
        """Each reducer with its own columns."""
        each, place = [], 0
        for reducer in self._reducers:
            width = len(reducer.fields)
            each.append((reducer, partials[place : place + width]))
            place += width
        return each


@dataclass(frozen=True, slots=True)
class CompositesOfMessages(_Parts):
    """A struct of aggregates of which one needs the messages; the others are computed from these messages too."""

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        given, sizes = self._given(values), groups.sizes()

        def value(part: CompositePart) -> pa.Array:
            own = part.input(given)
            if isinstance(part.reducer, MessageReducer):
                return part.reducer.compute(own, times, arrivals, groups)
            return part.reducer.finish(part.reducer.partial(own, times, groups, sizes))

        return self._struct([value(part) for part in self.parts])

    def outside_of(
        self, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
    ) -> dict[int, Any]:
        given = self._given(values)

        def beyond(part: CompositePart, known: pa.Array) -> dict[int, Any]:
            own, reducer = part.input(given), part.reducer
            if isinstance(reducer, MessageReducer):
                return outside_messages(reducer, known, own, times, arrivals, groups)
            # A value is null if it does not fit or if there was none: most often there is neither case.
            if not isinstance(reducer, Bounded) or not (known.null_count or pa.types.is_struct(known.type)):
                return {}
            return outside(reducer, reducer.partial(own, times, groups, groups.sizes()))

        each = [beyond(part, known) for part, known in zip(self.parts, found.flatten(), strict=True)]
        return self._told(found, each) if any(each) else {}
