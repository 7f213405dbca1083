"""The message store: records kept by slice, for the aggregates and the readers that need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Groups, Ints, ranked
from fanlight.kernels.keys import encode
from fanlight.kernels.reducers.inputs import input_values
from fanlight.kernels.reducers.plain import plain_type
from fanlight.kernels.reducers.reducer import outside_messages
from fanlight.kernels.slicing import spread
from fanlight.kernels.window_merge import in_any
from fanlight.operators.log import ChunkLog, in_one
from fanlight.operators.plan import Plan, plain
from fanlight.operators.taken import Taken
from fanlight.state.store import ChunkStore

_OWN = [pa.field("arrival", pa.int64()), pa.field("live_from", pa.int64()), pa.field("time", pa.int64())]


class Messages:
    """Accepted records by slice, each with its arrival number, its time and the first window it counts in."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._columns = plan.message_columns
        fields = [pa.field(f"v.{name}", plain_type(plan.schema.field(name).type)) for name in self._columns]
        self._schema = pa.schema([*_OWN, *fields])
        self._log = ChunkLog(store, "records")

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        return self._log.slices

    def append(self, taken: Taken) -> None:
        """Keep the records of a bundle."""
        order = np.argsort(taken.slices, kind="stable")
        live_from = np.broadcast_to(taken.expired + 1, len(taken))
        own = [pa.array(column) for column in (taken.arrivals, live_from, taken.bundle.times)]
        columns = [plain(taken.bundle.batch.column(name)) for name in self._columns]
        kept = pa.record_batch([*own, *columns], schema=self._schema)
        self._log.append(taken.slices[order], kept.take(pa.array(order)))

    def read(self, slices: Iterable[int]) -> pa.RecordBatch:
        """The messages of these slices."""
        _, chunks = self._log.read(slices)
        return in_one(chunks, self._schema)

    def retire(self, slices: Iterable[int]) -> None:
        """Delete whole slices."""
        self._log.retire(slices)

    def values(
        self, windows: Ints, keys: list[pa.Array], after: Ints | None
    ) -> list[tuple[int, pa.Array, dict[int, Any]]]:
        """What the gathered aggregates say of these panes: place in the result, one value a pane, and those outside.

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
            computed = gathered.reducer.compute(values, times, arrivals, groups)
            outside = outside_messages(gathered.reducer, computed, values, times, arrivals, groups)
            found.append((gathered.place, computed, outside))
        return found

    def _assign(self, messages: pa.RecordBatch, windows: Ints, keys: list[pa.Array]) -> tuple[Ints, Ints]:
        """Every (message, pane) pair, by matching keys and windows."""
        if not len(windows):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        slicing = self._plan.slicing
        times = messages.column("time").to_numpy()
        first, last = slicing.windows(slicing.slices(times))
        rows, covering = spread(np.maximum(first, messages.column("live_from").to_numpy()), last)
        own = [messages.column(f"v.{name}") for name in self._plan.spec.keys]
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
        return rows[match], panes[match]
