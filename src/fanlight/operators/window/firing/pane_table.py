"""Panes as a table: one row for each (window, key), with trigger state, content and the values last emitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.aggregates.lists import empty_lists
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints, locate
from fanlight.operators.window.firing.trigger import State
from fanlight.operators.window.plan import Plan

STANDS: dict[str, tuple[str, int]] = {"stands": ("bool", 0)}
"""Beside these, where changes may empty a pane: whether the row that it has shown stands."""
OWN: dict[str, tuple[str, int]] = {
    "pending": ("int64", 0),  # records since the last firing
    "held": ("bool", 0),  # records from before the close have not fired yet
    "index": ("int64", 0),  # firings that were emitted
    "revision": ("int64", 0),  # emitted firings that were not early
    "finished": ("bool", 0),  # the trigger has finished: a tombstone
    "mark": ("int64", -1),  # the arrival number of the last message that has fired
}


@dataclass(slots=True)
class PaneTable(Columnar):
    """Some panes of a shard. Columns change in place; rows are only ever added."""

    windows: Ints
    keys: list[pa.Array]
    state: State
    partials: Partials
    shown: list[pa.Array]
    kept: list[pa.Array] = field(default_factory=list)
    """The records of each pane, for windows that can be cut again."""

    def bounds(self, plan: Plan) -> tuple[Ints, Ints]:
        """Where the panes' windows start and end. The window of an unaligned pane is known by its end."""
        return (self.state["start"], self.windows) if "start" in self.state else plan.slicing.bounds(self.windows)

    @property
    def stands(self) -> Bools:
        """Which panes have a row in the table of results."""
        stands: Bools = self.state["stands"] if "stands" in self.state else self.state["index"] > 0
        return stands

    def where(self, mask: Bools) -> Self:
        """The panes that `mask` keeps, always as a copy: the columns of either may change."""
        return self.take(np.flatnonzero(mask))

    def show(self, rows: Ints, values: list[pa.Array]) -> None:
        """Remember the emitted values of `rows`, if the spec needs them again."""
        if self.shown:
            source = np.arange(len(self))
            source[rows] = len(self) + np.arange(len(rows))
            places = pa.array(source)
            self.shown = [pa.concat_arrays(pair).take(places) for pair in zip(self.shown, values, strict=True)]


class PaneTableShape:
    """The columns of a spec's panes, and how they become chunks and back."""

    def __init__(
        self, plan: Plan, trigger: dict[str, tuple[str, int]], *, shows: bool, keeps: pa.DataType | None = None
    ) -> None:
        self._plan = plan
        self._kept = [] if keeps is None else [pa.field("kept", pa.list_(keeps))]
        self._state = OWN | trigger
        shown = [pa.field(f"shown.{name}", plan.result.field(name).type) for name, _ in plan.spec.aggregates]
        self._shown = shown if shows else []
        state = [pa.field(name, pa.from_numpy_dtype(dtype)) for name, (dtype, _) in self._state.items()]
        self.schema = pa.schema([*plan.key_fields, *state, *plan.aggregation.fields, *self._shown, *self._kept])

    def fresh(self, windows: Ints, keys: list[pa.Array]) -> PaneTable:
        """New panes, without a record."""
        count = len(windows)
        state: State = {name: np.full(count, value, dtype) for name, (dtype, value) in self._state.items()}
        shown = [pa.nulls(count, field.type) for field in self._shown]
        kept = [empty_lists(count, field.type.value_type) for field in self._kept]
        return PaneTable(windows, keys, state, self._plan.aggregation.identity(count), shown, kept)

    def none(self) -> PaneTable:
        """An empty table."""
        return self.fresh(np.zeros(0, np.int64), [pa.array([], field.type) for field in self._plan.key_fields])

    def to_batch(self, table: PaneTable) -> pa.RecordBatch:
        """Panes as a chunk."""
        state = [pa.array(table.state[name]) for name in self._state]
        return pa.record_batch(
            [*table.keys, *state, *self._plan.aggregation.to_arrays(table.partials), *table.shown, *table.kept],
            schema=self.schema,
        )

    def from_batches(self, windows: list[int], chunks: list[pa.RecordBatch]) -> PaneTable:
        """The panes of several windows, from the chunk of each."""
        table = pa.Table.from_batches(chunks, schema=self.schema).combine_chunks()
        columns = table.to_batches()[0].columns if len(table) else [pa.array([], f.type) for f in self.schema]
        keys = columns[: len(self._plan.key_fields)]
        rest = columns[len(keys) :]
        state: State = {}
        for name, column in zip(self._state, rest, strict=False):
            numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
            state[name] = numbers.copy()  # trigger state changes in place; chunks never do
        rest = rest[len(self._state) :]
        width = len(self._plan.aggregation.fields)
        owners = np.repeat(np.array(windows, np.int64), [len(chunk) for chunk in chunks])
        partials, rest = self._plan.aggregation.from_arrays(rest[:width]), rest[width:]
        shown = len(self._shown)
        return PaneTable(owners, list(keys), state, partials, list(rest[:shown]), list(rest[shown:]))


def find(table: PaneTable, windows: Ints, keys: list[pa.Array]) -> Ints:
    """The row of each wanted pane in the table; -1 where there is none."""
    return locate(table.windows, table.keys, windows, keys)
