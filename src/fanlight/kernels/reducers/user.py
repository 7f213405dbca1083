"""A user's own aggregate: the only place where rows meet a Python loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.errors import EngineError, FanlightError
from fanlight.kernels.reducers.values import without_nulls

if TYPE_CHECKING:
    from fanlight.kernels.groups import Column, Groups, Ints
    from fanlight.model.aggregates import UserAggregate

_MISSING = object()


@dataclass(frozen=True, slots=True)
class UserStates:
    """One state for each group, kept as an Arrow column of the aggregate's `state_type`.

    Nulls never reach the user. A class with `add_batch(states, values, groups, count)` is called once for a bundle:
    with an Arrow array of `count` fresh states, an Arrow array of the values and a NumPy array of each value's
    group; it returns the new states as an Arrow array, a NumPy array or a list. Otherwise `add` is called for each
    value, in the order of the rows.
    """

    aggregate: UserAggregate

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
            with self._blamed("add_batch"):
                states = self.aggregate.add_batch(fresh, present, groups.codes, groups.count)
            return [self._column(states, "add_batch", groups.count)]
        filled = self._zeros(groups.count)
        with self._blamed("add"):
            for code, value in zip(groups.codes.tolist(), present.to_pylist(), strict=True):
                filled[code] = self.aggregate.add(filled[code], value)
        return [self._column(filled, "add", groups.count)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        merged: list[Any] = [_MISSING] * groups.count
        with self._blamed("merge"):
            for code, state in zip(groups.codes.tolist(), _as_list(partials[0]), strict=True):
                held = merged[code]
                merged[code] = state if held is _MISSING else self.aggregate.merge(held, state)
        with self._blamed("zero"):
            states = [self.aggregate.zero() if state is _MISSING else state for state in merged]
        return [self._column(states, "merge", groups.count)]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        pairs = zip(_as_list(left[0]), _as_list(right[0]), strict=True)
        with self._blamed("merge"):
            states = [self.aggregate.merge(state, other) for state, other in pairs]
        return [self._column(states, "merge", len(states))]

    def identity(self, count: int) -> list[Column]:
        return [self._column(self._zeros(count), "zero", count)]

    def finish(self, partials: list[Any]) -> pa.Array:
        with self._blamed("finish"):
            results = [self.aggregate.finish(state) for state in _as_list(partials[0])]
        return self._array(results, self.output, "output_type", "finish")

    def retractions(self, values: pa.Array) -> pa.Array:
        """What rows carry that take these values back."""
        with self._blamed("retraction"):
            back = [self.aggregate.retraction(value) for value in values.to_pylist()]
        return self._array(back, self.output, "output_type", "retraction")

    def _zeros(self, count: int) -> list[Any]:
        with self._blamed("zero"):
            return [self.aggregate.zero() for _ in range(count)]

    @contextmanager
    def _blamed(self, method: str) -> Iterator[None]:
        """Name the user's method in whatever it raises; Fanlight's own errors already say what to do."""
        try:
            yield
        except FanlightError:
            raise
        except Exception as error:
            raise EngineError(
                f"{self._name}: `{method}` on `{self.aggregate.column}` raised {type(error).__name__}: {error}; "
                f"its value would be unknown. Correct `{self._name}.{method}`."
            ) from error

    def _column(self, states: Iterable[Any], method: str, count: int) -> pa.Array:
        column = self._array(states, self.aggregate.state_type, "state_type", method)
        if len(column) != count:
            raise EngineError(
                f"{self._name}: `{method}` returned {len(column)} states for {count} groups. "
                "Return one state for each group, in their order."
            )
        return column

    def _array(self, items: Iterable[Any], kind: pa.DataType, declared: str, method: str) -> pa.Array:
        try:
            array = items.combine_chunks() if isinstance(items, pa.ChunkedArray) else items
            array = array if isinstance(array, pa.Array) else pa.array(array, kind)
            return array if array.type == kind else array.cast(kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise EngineError(
                f"{self._name}: `{method}` returned what does not fit `{declared}` ({kind}): {error}. "
                f"Return values of that type, or declare another `{declared}`."
            ) from error

    @property
    def _name(self) -> str:
        return type(self.aggregate).__name__


def _as_list(column: Column) -> list[Any]:
    """The states as Python values; a column of numbers may come back from storage as NumPy."""
    states: list[Any] = column.to_pylist() if isinstance(column, pa.Array) else column.tolist()
    return states
