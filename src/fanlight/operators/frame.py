"""Panes as a table: one row a (window, key), with trigger state, content and the values last shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.pairs import locate
from fanlight.kernels.reducers.lists import empty_lists
from fanlight.operators.plan import Plan
from fanlight.operators.trigger import State

OWN: dict[str, tuple[str, int]] = {
    "pending": ("int64", 0),  # records since the last firing
    "held": ("bool", 0),  # records from before the close still wait for their first firing
    "index": ("int64", 0),  # firings that left
    "revision": ("int64", 0),  # those of them that were not early
    "finished": ("bool", 0),  # the trigger has finished: a tombstone
    "mark": ("int64", -1),  # the last message that has been fired
}


@dataclass(slots=True)
class Frame:
    """Some panes of a shard. Columns change in place; rows are only ever added."""

    windows: Ints
    keys: list[pa.Array]
    state: State
    partials: Partials
    shown: list[pa.Array]
    kept: list[pa.Array] = field(default_factory=list)
    """The records of each pane, where windows can be cut anew."""

    def __len__(self) -> int:
        return len(self.windows)

    def bounds(self, plan: Plan) -> tuple[Ints, Ints]:
        """Where the panes' windows start and end. The window of an unaligned pane is known by its end."""
        return (self.state["start"], self.windows) if "start" in self.state else plan.slicing.bounds(self.windows)

    def where(self, mask: Bools) -> Frame:
        """The panes that `mask` keeps, as a copy."""
        return self.take(np.flatnonzero(mask))

    def take(self, rows: Ints) -> Frame:
        """The panes at `rows`, in that order, as a copy."""
        places = pa.array(rows)
        return Frame(
            self.windows[rows],
            [column.take(places) for column in self.keys],
            {name: column[rows] for name, column in self.state.items()},
            self.partials.take(rows),
            [column.take(places) for column in self.shown],
            [column.take(places) for column in self.kept],
        )

    def show(self, rows: Ints, values: list[pa.Array]) -> None:
        """Remember the values that left for `rows`, where the spec needs them again."""
        if self.shown:
            source = np.arange(len(self))
            source[rows] = len(self) + np.arange(len(rows))
            places = pa.array(source)
            self.shown = [pa.concat_arrays(pair).take(places) for pair in zip(self.shown, values, strict=True)]


class FrameShape:
    """The columns of a spec's frames, and how they become chunks and back."""

    def __init__(
        self, plan: Plan, trigger: dict[str, tuple[str, int]], *, shows: bool, keeps: pa.DataType | None = None
    ) -> None:
        self._plan = plan
        self._kept = [] if keeps is None else [pa.field("kept", pa.list_(keeps))]
        self._state = OWN | trigger
        shown = [pa.field(f"shown.{name}", plan.result.field(name).type) for name, _ in plan.spec.aggregates]
        self._shown = shown if shows else []
        state = [pa.field(name, pa.from_numpy_dtype(dtype)) for name, (dtype, _) in self._state.items()]
        self.schema = pa.schema([*plan.key_fields, *state, *plan.fold.fields, *self._shown, *self._kept])

    def fresh(self, windows: Ints, keys: list[pa.Array]) -> Frame:
        """Panes that have seen nothing yet."""
        count = len(windows)
        state: State = {name: np.full(count, value, dtype) for name, (dtype, value) in self._state.items()}
        shown = [pa.nulls(count, field.type) for field in self._shown]
        kept = [empty_lists(count, field.type.value_type) for field in self._kept]
        return Frame(windows, keys, state, self._plan.fold.identity(count), shown, kept)

    def none(self) -> Frame:
        """No pane."""
        return self.fresh(np.zeros(0, np.int64), [pa.array([], field.type) for field in self._plan.key_fields])

    def join(self, frames: list[Frame]) -> Frame:
        """The panes of several frames, one after the other."""
        if len(frames) == 1:
            return frames[0]
        return Frame(
            np.concatenate([frame.windows for frame in frames]),
            [pa.concat_arrays(same) for same in zip(*(frame.keys for frame in frames), strict=True)],
            {name: np.concatenate([frame.state[name] for frame in frames]) for name in self._state},
            Partials.concat([frame.partials for frame in frames]),
            [pa.concat_arrays(same) for same in zip(*(frame.shown for frame in frames), strict=True)],
            [pa.concat_arrays(same) for same in zip(*(frame.kept for frame in frames), strict=True)],
        )

    def to_batch(self, frame: Frame) -> pa.RecordBatch:
        """A frame as a chunk."""
        state = [pa.array(frame.state[name]) for name in self._state]
        return pa.record_batch(
            [*frame.keys, *state, *self._plan.fold.to_arrays(frame.partials), *frame.shown, *frame.kept],
            schema=self.schema,
        )

    def from_batches(self, windows: list[int], chunks: list[pa.RecordBatch]) -> Frame:
        """The frame of several windows, from the chunk of each."""
        table = pa.Table.from_batches(chunks, schema=self.schema).combine_chunks()
        columns = table.to_batches()[0].columns if len(table) else [pa.array([], f.type) for f in self.schema]
        keys = columns[: len(self._plan.key_fields)]
        rest = columns[len(keys) :]
        state: State = {}
        for name, column in zip(self._state, rest, strict=False):
            numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
            state[name] = numbers.copy()  # trigger state changes in place; chunks never do
        rest = rest[len(self._state) :]
        width = len(self._plan.fold.fields)
        owners = np.repeat(np.array(windows, np.int64), [len(chunk) for chunk in chunks])
        partials, rest = self._plan.fold.from_arrays(rest[:width]), rest[width:]
        shown = len(self._shown)
        return Frame(owners, list(keys), state, partials, list(rest[:shown]), list(rest[shown:]))


def find(frame: Frame, windows: Ints, keys: list[pa.Array]) -> Ints:
    """The row of each wanted pane in the frame; -1 where there is none."""
    return locate(frame.windows, frame.keys, windows, keys)
