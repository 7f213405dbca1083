"""How the tests of reducers run one over rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates import bind
from fanlight.kernels.grouping.groups import Groups
from fanlight.model import aggregates as fl

GREATEST = 2**63 - 1
NAN, INF = math.nan, math.inf


def grouped(codes: list[int], count: int | None = None) -> Groups:
    return Groups(np.array(codes, np.int64), max(codes, default=-1) + 1 if count is None else count)


def partial(reducer: Any, values: pa.Array, codes: list[int] | None = None, count: int | None = None) -> list[Any]:
    """The partials of rows whose times are their places."""
    groups = grouped([0] * len(values) if codes is None else codes, 1 if codes is None else count)
    return list(reducer.partial(values, np.arange(len(values)), groups, groups.sizes()))


def reduced(aggregate: fl.Aggregate, values: pa.Array, codes: list[int] | None = None, count: int | None = None) -> Any:
    return finished(aggregate, values, codes, count).to_pylist()


def finished(
    aggregate: fl.Aggregate, values: pa.Array, codes: list[int] | None = None, count: int | None = None
) -> pa.Array:
    reducer: Any = bind(aggregate, values.type)
    return reducer.finish(partial(reducer, values, codes, count))


def computed(
    aggregate: fl.Aggregate,
    values: pa.Array,
    *,
    codes: list[int] | None = None,
    times: list[int] | None = None,
    count: int | None = None,
) -> Any:
    reducer: Any = bind(aggregate, values.type)
    groups = grouped([0] * len(values) if codes is None else codes, 1 if codes is None else count)
    clock = np.arange(len(values)) if times is None else np.array(times, np.int64)
    return reducer.compute(values, clock, np.arange(len(values)), groups).to_pylist()


class Squares(fl.UserAggregate):
    """The sum of squares, value by value."""

    state_type = pa.int64()
    output_type = pa.float64()

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + value * value

    def merge(self, left: int, right: int) -> int:
        return left + right

    def finish(self, state: int) -> float:
        return float(state)


class SquaresAtOnce(Squares):
    """The same, a bundle at a time."""

    def add_batch(self, states: pa.Array, values: pa.Array, groups: Any, count: int) -> Any:
        assert len(states) == count
        assert values.null_count == 0
        added = states.to_numpy().copy()
        np.add.at(added, groups, values.to_numpy() ** 2)
        return added


class Seen(fl.UserAggregate):
    """All values in a list that `add` changes in place."""

    state_type = pa.list_(pa.string())
    output_type = pa.string()

    def zero(self) -> list[str]:
        return []

    def add(self, state: list[str], value: str) -> list[str]:
        state.append(value)
        return state

    def merge(self, left: list[str], right: list[str]) -> list[str]:
        return sorted(left + right)

    def finish(self, state: list[str]) -> str | None:
        return ",".join(state) or None


class Order(fl.UserAggregate):
    """All values in the order in which they were merged: shows a left that came after its right."""

    state_type = pa.string()
    output_type = pa.string()

    def zero(self) -> str:
        return ""

    def add(self, state: str, value: str) -> str:
        return state + value

    def merge(self, left: str, right: str) -> str:
        return left + right

    def finish(self, state: str) -> str:
        return state
