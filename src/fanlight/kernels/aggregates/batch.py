"""A user's function of whole tables: the rows of each group, ordered by event time, then by arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.errors import EngineError, FanlightError
from fanlight.kernels.aggregates.sorting import by_group, by_time_and_arrival
from fanlight.kernels.aggregates.user_code import UserCode

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Groups, Ints
    from fanlight.model.aggregates import UserBatch

_LONGEST = 300
"""How much of a row a message shows."""


class PaneError(EngineError):
    """What a user's function did with the rows of one group; whoever knows which pane that is may say it."""

    def __init__(self, told: str, remedy: str, group: int) -> None:
        super().__init__(told, remedy, group)
        self.told = told
        self.remedy = remedy
        self.group = group

    def __str__(self) -> str:
        return f"{self.told} {self.remedy}"

    def of_pane(self, pane: str) -> EngineError:
        """The same, with the name of the aggregate, its key and its window."""
        return EngineError(f"{self.told} This is {pane}. {self.remedy}")


@dataclass(frozen=True, slots=True)
class CalledTables:
    """What the function returns for the rows of each group, nulls and all."""

    aggregate: UserBatch
    kind: pa.DataType

    @property
    def output(self) -> pa.DataType:
        return self.aggregate.output_type

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        order = by_group(by_time_and_arrival(times, arrivals), groups)
        table, sizes = self._table(values.take(pa.array(order))), groups.sizes()
        starts = np.cumsum(sizes) - sizes
        each = zip(starts.tolist(), sizes.tolist(), strict=True)
        tables = [table.slice(start, size) for start, size in each]
        found = [self._called(own, group) for group, own in enumerate(tables)]
        try:
            return self._fitted(found)
        except EngineError:
            for group, value in enumerate(found):
                self._checked(value, tables[group], group)
            raise

    def _table(self, values: pa.Array) -> pa.Table:
        """Rows as a table: of the columns that were named, or of all that a record has."""
        if len(self.aggregate.names) == 1:
            return pa.table([values], names=list(self.aggregate.names))
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(values)])

    def _called(self, table: pa.Table, group: int) -> Any:
        function = self.aggregate.function
        assert function is not None
        try:
            return _plain(function(table))
        except FanlightError:
            raise
        except Exception as error:
            told = f"batch: `{self._name}` raised {type(error).__name__}: {error}, {_over(table)}."
            raise PaneError(told, "Its value would be unknown. Correct the function.", group) from error

    def _fitted(self, found: list[Any]) -> pa.Array:
        return UserCode("batch", self._name).fitted(found, self.output, "output_type", "function")

    def _checked(self, value: Any, table: pa.Table, group: int) -> None:
        """Name the rows of a value that does not fit."""
        try:
            self._fitted([value])
        except EngineError as problem:
            told = f"batch: `{self._name}` returned {value!r}, which is no {self.output}, {_over(table)}."
            remedy = "Return values of that type, or declare another."
            raise PaneError(told, remedy, group) from problem

    @property
    def _name(self) -> str:
        function = self.aggregate.function
        return str(getattr(function, "__qualname__", type(function).__qualname__))


def _plain(value: Any) -> Any:
    """What a function returned as Python values: Arrow's own are taken apart."""
    if isinstance(value, pa.Scalar):
        return value.as_py()
    return value.to_pylist() if isinstance(value, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch) else value


def _over(table: pa.Table) -> str:
    """Which rows these are, in few words."""
    if not len(table):
        return "over no rows"
    first = repr(table.slice(0, 1).to_pylist()[0])
    shown = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
    return f"over {len(table)} row{'s' if len(table) > 1 else ''}, the first of which is {shown}"
