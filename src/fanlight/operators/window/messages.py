"""The message store: records by slice, for aggregates and queries that need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.batch import PaneError
from fanlight.kernels.aggregates.inputs import input_values
from fanlight.kernels.grouping.groups import Groups, Ints, encode, ranked
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.reducer import outside_messages
from fanlight.kernels.slicing.merge_windows import in_any
from fanlight.kernels.slicing.slicing import spread
from fanlight.model.time.timestamp import as_text
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.operators.ingest.columns import plain
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.net_messages import DELETE, left, netted
from fanlight.operators.window.offsets import Extremes, extremes, offset_column
from fanlight.operators.window.plan import Plan
from fanlight.state.store import ChunkStore

_OWN = [pa.field("arrival", pa.int64()), pa.field("live_from", pa.int64()), pa.field("time", pa.int64())]


def message_schema(plan: Plan) -> pa.Schema:
    """The columns of stored messages: their own, then those of the input, each after `v.`."""
    fields = [pa.field(f"v.{name}", plain_type(plan.schema.field(name).type)) for name in plan.message_columns]
    return pa.schema([*_OWN, *([DELETE] if plan.operations is not None else []), *fields])


def as_messages(plan: Plan, accepted: Accepted) -> pa.RecordBatch:
    """The records of a bundle as messages, in order of arrival."""
    live_from = np.broadcast_to(accepted.expired + 1, len(accepted))
    own = [pa.array(column) for column in (accepted.arrivals, live_from, accepted.bundle.times)]
    if plan.operations is not None:
        deletes = accepted.bundle.deletes
        own.append(pa.array(np.zeros(len(accepted), np.bool_) if deletes is None else deletes))
    columns = [plain(accepted.bundle.batch.column(name)) for name in plan.message_columns]
    return pa.record_batch([*own, *columns], schema=message_schema(plan))


def keys_of(plan: Plan, messages: pa.RecordBatch) -> list[pa.Array]:
    """The key columns of messages."""
    return [messages.column(f"v.{name}") for name in plan.spec.keys]


class Messages:
    """Accepted records by slice, each with its arrival number, its time and the first window it counts in."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._schema = message_schema(plan)
        self._log = ChunkLog(store, "records")

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        return self._log.slices

    def append(self, accepted: Accepted) -> None:
        """Keep the records of a bundle."""
        order = np.argsort(accepted.slices, kind="stable")
        touched = self._log.append(accepted.slices[order], as_messages(self._plan, accepted).take(pa.array(order)))
        if self._plan.operations is not None:
            for slice_ in self._log.crowded(touched):
                self._log.replace(slice_, netted(self._plan, self.read([slice_])))

    def read(self, slices: Iterable[int]) -> pa.RecordBatch:
        """The messages of these slices."""
        _, chunks = self._log.read(slices)
        return in_one(chunks, self._schema)

    def between(self, first: int, last: int) -> pa.RecordBatch:
        """At least the messages with times from `first` to `last`."""
        slices = self.slices
        low, high = self._plan.slicing.slices(np.array([first, last]))
        messages = self.read(slices[(slices >= low) & (slices <= high)].tolist())
        if self._plan.operations is None:
            return messages
        every = np.arange(len(messages))
        return messages.filter(pa.array(left(self._plan, messages, every, np.zeros_like(every))))

    def offsets(self, windows: Ints, keys: list[pa.Array]) -> Extremes:
        """The first and last offset of these panes."""
        slices = self.slices
        messages = self.read(slices[in_any(self._plan.slicing, np.unique(windows), slices)].tolist())
        rows, panes = self._assign(messages, windows, keys)
        return extremes(offset_column(self._plan, messages).take(pa.array(rows)), panes, len(windows))

    def retire(self, slices: Iterable[int]) -> None:
        """Delete whole slices."""
        self._log.retire(slices)

    def values(
        self, windows: Ints, keys: list[pa.Array], after: Ints | None
    ) -> list[tuple[int, pa.Array, dict[int, Any]]]:
        """The values of aggregates over messages, for these panes: place in the result, values, and those outside.

        `after` leaves out, pane by pane, the messages that arrived up to that number: the discarding mode.
        """
        slices = self.slices
        messages = self.read(slices[in_any(self._plan.slicing, np.unique(windows), slices)].tolist())
        rows, panes = self._assign(messages, windows, keys)
        arrivals = messages.column("arrival").to_numpy()[rows]
        if after is not None:
            fresh = arrivals > after[panes]
            rows, panes, arrivals = rows[fresh], panes[fresh], arrivals[fresh]
        times = messages.column("time").to_numpy()[rows]
        groups = Groups(panes, len(windows))
        places = pa.array(rows)
        found = []
        for gathered in self._plan.gathered:
            columns = [messages.column(f"v.{name}").take(places) for name in gathered.columns]
            values = input_values(gathered.columns, columns)
            try:
                computed = gathered.reducer.compute(values, times, arrivals, groups)
            except PaneError as problem:
                raise problem.of_pane(self._told(gathered.place, windows, keys, problem.group)) from problem
            outside = outside_messages(gathered.reducer, computed, values, times, arrivals, groups)
            found.append((gathered.place, computed, outside))
        return found

    def _told(self, place: int, windows: Ints, keys: list[pa.Array], pane: int) -> str:
        """A pane and an aggregate of it, in words."""
        spec = self._plan.spec
        key = {name: column[pane].as_py() for name, column in zip(spec.keys, keys, strict=True)}
        (start,), (end,) = self._plan.slicing.bounds(windows[pane : pane + 1])
        window = [as_text(int(time)) if self._plan.of_times else str(time) for time in (start, end)]
        return f"{spec.aggregates[place][0]!r} of the key {key} and the window [{', '.join(window)})"

    def _assign(self, messages: pa.RecordBatch, windows: Ints, keys: list[pa.Array]) -> tuple[Ints, Ints]:
        """Every (message, pane) pair, by matching keys and windows."""
        if not len(windows):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        slicing = self._plan.slicing
        times = messages.column("time").to_numpy()
        first, last = slicing.windows(slicing.slices(times))
        rows, covering = spread(np.maximum(first, messages.column("live_from").to_numpy()), last)
        own = keys_of(self._plan, messages)
        both = [pa.concat_arrays([pane, message]) for pane, message in zip(keys, own, strict=True)]
        found = encode(both, len(windows) + len(messages))
        known = np.isin(covering, windows)
        rows, covering = rows[known], covering[known]
        codes = np.concatenate([found.codes[: len(windows)], found.codes[len(windows) :][rows]])
        pairs = ranked(np.concatenate([windows, covering]))[0] * found.count + codes
        pane_ids, row_ids = pairs[: len(windows)], pairs[len(windows) :]
        order = np.argsort(pane_ids)
        place = np.minimum(np.searchsorted(pane_ids[order], row_ids), len(order) - 1)
        panes = order[place]
        match = pane_ids[panes] == row_ids
        rows, panes = rows[match], panes[match]
        if self._plan.operations is not None:
            stays = left(self._plan, messages, rows, panes)
            rows, panes = rows[stays], panes[stays]
        return rows, panes
