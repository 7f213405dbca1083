"""Makes an aggregate over messages incremental: its partial is the list of the messages.

    partial                         merge, combine              finish
    rows ─► [(value, time, arrival)] ─► lists one after another ─► compute(values, times, arrivals)

So it works wherever partials work: in a pane that moves, splits or merges. The price is that a partial is as
large as all its messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.lists import by_groups, empty_lists, paired, taken_apart
from fanlight.kernels.range_merge.pairwise import merged_by_rows
from fanlight.kernels.reducer import BoundedMessages

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Groups, Ints
    from fanlight.kernels.range_merge.spans import Spans
    from fanlight.kernels.reducer import MessageReducer


@dataclass(frozen=True, slots=True)
class GatheredLists:
    """The messages of each group as a list; `inner` computes the value in the end. `kind` is the type of the values.

    The law of order: messages are ordered by their arrival number, and those with the same number by their place in
    the list. A list grows at its end. `partial` knows no arrival numbers and gives every message 0: so it keeps the
    order of arrival only if partials are merged and combined in that order. Where they are not (sessions that merge,
    slices that are merged by time), use `numbered`. Never mix the two.
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
        # Lists do not shrink when they are merged, so merging parts first would save nothing.
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
    # Messages with equal numbers are ordered by place, so each message gets a number of its own.
    order = np.argsort(arrivals.to_numpy(), kind="stable")
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return values, times.to_numpy(), numbers, groups
