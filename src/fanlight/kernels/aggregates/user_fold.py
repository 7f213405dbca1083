"""A user's function over the values of each group: ordered by event time, then by arrival."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.kernels.aggregates.over_messages import Lists
from fanlight.kernels.aggregates.user_code import UserCode

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints
    from fanlight.model.aggregates import UserFold, UserReduce


@dataclass(frozen=True, slots=True)
class Folds:
    """The state after all values of a group; the initial state if there is none. Nulls never reach the user."""

    aggregate: UserFold
    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return self.aggregate.output_type

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        code = UserCode("UserFold", self.aggregate.column)
        lists = _in_order(self.kind, values, times, arrivals, groups)
        with code.blamed("function"):
            states = [reduce(self.aggregate.add, own, self.aggregate.zero()) for own in lists]
        return code.fitted(states, self.output, "output_type", "function")


@dataclass(frozen=True, slots=True)
class Reduces:
    """The values of a group combined two by two; null if there is none. Nulls never reach the user."""

    aggregate: UserReduce
    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return self.kind

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        function = self.aggregate.function
        assert function is not None
        code = UserCode("UserReduce", self.aggregate.column)
        lists = _in_order(self.kind, values, times, arrivals, groups)
        with code.blamed("function"):
            joined = [reduce(function, own) if own else None for own in lists]
        return code.fitted(joined, self.output, "column", "function")


def _in_order(kind: pa.DataType, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> list[list[Any]]:
    lists = Lists(kind, by_arrival=False, sorts=False).compute(values, times, arrivals, groups)
    found: list[list[Any]] = lists.to_pylist()
    return found
