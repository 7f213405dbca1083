"""A user's aggregate class, called for each row or bundle. Only here and in `user_fold` Python loops over rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from fanlight.errors import EngineError
from fanlight.kernels.aggregates.arrow_numpy import without_nulls
from fanlight.kernels.aggregates.user_code import UserCode

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints

_MISSING = object()


class Stateful(Protocol):
    """The aggregate class that a user writes: two types, and the methods from value to state to result."""

    @property
    def column(self) -> str | None: ...

    @property
    def state_type(self) -> Any: ...

    @property
    def output_type(self) -> Any: ...

    def zero(self) -> Any: ...

    def add(self, state: Any, value: Any) -> Any: ...

    def merge(self, left: Any, right: Any) -> Any: ...

    def finish(self, state: Any) -> Any: ...

    def retraction(self, value: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class UserStates:
    """One state for each group, kept as an Arrow column of the aggregate's `state_type`.

    Nulls never reach the user. A class with `add_batch(states, values, groups, count)` is called once for a bundle:
    with an Arrow array of `count` fresh states, an Arrow array of the values and a NumPy array of each value's
    group; it returns the new states as an Arrow array, a NumPy array or a list. Otherwise `add` is called for each
    value, in the order of the rows.
    """

    aggregate: Stateful

    @property
    def code(self) -> UserCode:
        """The user's code, for error messages."""
        return UserCode(type(self.aggregate).__name__, self.aggregate.column)

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("state", self.aggregate.state_type),)

    @property
    def output(self) -> pa.DataType:
        return self.aggregate.output_type

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        assert values is not None
        present, groups = without_nulls(values, groups)
        if hasattr(self.aggregate, "add_batch"):
            fresh = self.identity(groups.count)[0]
            with self.code.blamed("add_batch"):
                states = self.aggregate.add_batch(fresh, present, groups.codes, groups.count)
            return [self._column(states, "add_batch", groups.count)]
        filled = self._zeros(groups.count)
        with self.code.blamed("add"):
            for code, value in zip(groups.codes.tolist(), present.to_pylist(), strict=True):
                filled[code] = self.aggregate.add(filled[code], value)
        return [self._column(filled, "add", groups.count)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        merged: list[Any] = [_MISSING] * groups.count
        with self.code.blamed("merge"):
            for code, state in zip(groups.codes.tolist(), _as_list(partials[0]), strict=True):
                held = merged[code]
                merged[code] = state if held is _MISSING else self.aggregate.merge(held, state)
        with self.code.blamed("zero"):
            states = [self.aggregate.zero() if state is _MISSING else state for state in merged]
        return [self._column(states, "merge", groups.count)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        pairs = zip(_as_list(left[0]), _as_list(right[0]), strict=True)
        with self.code.blamed("merge"):
            states = [self.aggregate.merge(state, other) for state, other in pairs]
        return [self._column(states, "merge", len(states))]

    def identity(self, count: int) -> list[Column]:
        return [self._column(self._zeros(count), "zero", count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        with self.code.blamed("finish"):
            results = [self.aggregate.finish(state) for state in _as_list(partials[0])]
        return self.code.fitted(results, self.output, "output_type", "finish")

    def retractions(self, values: pa.Array) -> pa.Array:
        """The values in the rows that take these values back."""
        with self.code.blamed("retraction"):
            back = [self.aggregate.retraction(value) for value in values.to_pylist()]
        return self.code.fitted(back, self.output, "output_type", "retraction")

    def _zeros(self, count: int) -> list[Any]:
        with self.code.blamed("zero"):
            return [self.aggregate.zero() for _ in range(count)]

    def _column(self, states: Iterable[Any], method: str, count: int) -> pa.Array:
        column = self.code.fitted(states, self.aggregate.state_type, "state_type", method)
        if len(column) != count:
            raise EngineError(
                f"{self.code.name}: `{method}` returned {len(column)} states for {count} groups. "
                "Return one state for each group, in their order."
            )
        return column


def _as_list(column: Column) -> list[Any]:
    """The states as Python values; a column of numbers may come back from storage as NumPy."""
    states: list[Any] = column.to_pylist() if isinstance(column, pa.Array) else column.tolist()
    return states
