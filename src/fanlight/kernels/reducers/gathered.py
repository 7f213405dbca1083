"""An aggregate over messages made incremental: its partial is the list of the messages themselves.

    partial                         merge, combine              finish
    rows ─► [(value, time, arrival)] ─► lists one after another ─► compute(values, times, arrivals)

So it can stand wherever a partial can: in a pane that moves, splits or merges. The price is that a partial is as
large as what it has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.ranges_combined import merged_by_rows
from fanlight.kernels.reducers.lists import by_groups, empty_lists, paired, taken_apart
from fanlight.kernels.reducers.reducer import BoundedMessages

if TYPE_CHECKING:
    from fanlight.kernels.groups import Column, Groups, Ints
    from fanlight.kernels.ranges_spans import Spans
    from fanlight.kernels.reducers.reducer import MessageReducer


@dataclass(frozen=True, slots=True)
class GatheredLists:
    """The messages of a group in a list, computed by `inner` when they are finished; `kind` is the type of a value.

    The law of order: messages arrive by their arrival number, and those with the same number by their place. A list
    grows at its end, rows of a bundle in their order; so `partial`, which is told of no arrivals and numbers every
    message 0, keeps the order of arrival as long as partials are merged and combined in the order in which they came.
    Where they are not (sessions that meet, slices that are merged by time), give the numbers with `numbered`. Never
    mix the two.
    """

    inner: MessageReducer
    kind: pa.DataType

    @property
    def row(self) -> pa.DataType:
        """One message in a list."""
        numbers = (pa.field(name, pa.int64(), nullable=False) for name in ("time", "arrival"))
        return pa.struct([pa.field("value", self.kind), *numbers])

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field("messages", pa.list_(self.row)),)

    @property
    def output(self) -> pa.DataType:
        return self.inner.output

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        return self.numbered(values, times, np.zeros(len(times), np.int64), groups)

    def numbered(self, values: pa.Array | None, times: Ints, arrivals: Ints, groups: Groups) -> list[Column]:
        """Rows to one partial for each group, each row with its number of arrival."""
        assert values is not None
        columns = [values, pa.array(times, pa.int64()), pa.array(arrivals, pa.int64())]
        return [by_groups(pa.StructArray.from_arrays(columns, fields=list(self.row)), groups)]

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        return [by_groups(*taken_apart(partials[0], groups))]

    def combine(self, left: list[Any], right: list[Any]) -> list[Column]:
        return [by_groups(*paired(left[0], right[0]))]

    def scan(self, partials: list[Any], spans: Spans) -> list[Column]:
        # A list is as long as what it holds, so nothing is saved by merging parts of it first.
        return merged_by_rows(self, partials, spans)

    def identity(self, count: int) -> list[Column]:
        return [empty_lists(count, self.row)]

    def finish(self, partials: list[Any]) -> pa.Array:
        return self.inner.compute(*_messages(partials[0]))

    def outside(self, partials: list[Any]) -> dict[int, Any]:
        if not isinstance(self.inner, BoundedMessages):
            return {}
        messages = _messages(partials[0])
        return self.inner.outside_of(self.inner.compute(*messages), *messages)


def _messages(lists: pa.Array) -> tuple[pa.Array, Ints, Ints, Groups]:
    """Values, times, arrivals and groups of the messages in lists."""
    rows, groups = taken_apart(lists)
    values, times, arrivals = rows.flatten()
    # Equal numbers come in the order of their places, so every message gets a number of its own.
    order = np.argsort(arrivals.to_numpy(), kind="stable")
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return values, times.to_numpy(), numbers, groups
