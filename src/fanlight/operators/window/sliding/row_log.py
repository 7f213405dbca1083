"""A log of single records, each with its key, time and partials, for windows that overlap in any way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, KeyCodes, encode_loosely
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.plan import Plan
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class LoggedRows(Columnar):
    """Records as partials, one row each."""

    times: Ints
    keys: list[pa.Array]
    partials: Partials

    @staticmethod
    def of(plan: Plan, accepted: Accepted) -> LoggedRows:
        """The records of a bundle, in order of arrival."""
        alone = Groups.alone(len(accepted))
        times = accepted.bundle.times
        arrivals = accepted.arrivals if plan.aggregation.numbers_rows else None
        partials = plan.aggregation.partial(accepted.values(plan), times, alone, accepted.counted(plan), arrivals)
        return LoggedRows(times, accepted.keys(plan), partials)


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows sorted by key code and time."""

    found: KeyCodes
    codes: Ints
    times: Ints
    order: Ints
    """The place of each row before sorting."""

    @staticmethod
    def of(logged: LoggedRows, kept: Bools | None = None) -> SortedRows:
        """Sort rows, or those that `kept` marks. Codes follow the order of the keys, and so do the results."""
        found = encode_loosely(logged.keys, len(logged), in_order=True)
        order, codes, times = sort_by_key_time(found.codes, logged.times, kept)
        return SortedRows(found, codes, times, order)


class RowLog:
    """The records of a shard by time, from the earliest one that a window can still need.

    Appended records wait in memory until the step retires; only those that a later step can need are written. So
    records that are needed in one step only are never cut into slices and never written.
    """

    def __init__(self, plan: Plan, store: ChunkStore, width: int) -> None:
        self._plan = plan
        self._width = width
        self._log = ChunkLog(store, "atoms")
        self._schema = pa.schema([pa.field("time", pa.int64()), *plan.key_fields, *plan.aggregation.fields])
        self._waiting: list[LoggedRows] = []

    def append(self, logged: LoggedRows) -> None:
        """Keep records."""
        if len(logged):
            self._waiting.append(logged)

    def between(self, first: int, last: int) -> LoggedRows:
        """The records with `first <= time < last`; those with the same time in order of arrival."""
        found, inside = self.around(first, last)
        return found if inside is None else found.where(inside)

    def around(self, first: int, last: int) -> tuple[LoggedRows, Bools | None]:
        """At least the records with `first <= time < last`, and a mask of these; None if there are no others.

        Most often the others are few: a caller that sorts rows can leave them out with less work.
        """
        slices = self._log.slices
        near = slices[(slices >= first // self._width) & (slices <= (last - 1) // self._width)].tolist()
        stored = [self._read(near)] if near or not self._waiting else []
        found = LoggedRows.concat([*stored, *self._waiting])
        inside = (found.times >= first) & (found.times < last)
        return found, None if inside.all() else inside

    def retire(self, before: int) -> None:
        """Delete records before a time (stored ones by whole slices), and write the waiting records that remain."""
        slices = self._log.slices
        self._log.retire(slices[(slices + 1) * self._width <= before].tolist())
        if self._waiting:
            waiting, self._waiting = LoggedRows.concat(self._waiting), []
            self._write(waiting, np.flatnonzero(waiting.times >= before))

    def _write(self, logged: LoggedRows, rows: Ints) -> None:
        """Add the records at `rows` to their slices. A slice with many small chunks is compacted."""
        if not len(rows):
            return
        slices = logged.times[rows] // self._width
        order = np.argsort(slices, kind="stable")
        touched = self._log.append(slices[order], self._batch(logged.take(rows[order])))
        for slice_ in self._log.crowded(touched):
            self._log.replace(slice_, self._batch(self._read([slice_])))

    def _batch(self, logged: LoggedRows) -> pa.RecordBatch:
        columns = [pa.array(logged.times), *logged.keys, *self._plan.aggregation.to_arrays(logged.partials)]
        return pa.record_batch(columns, schema=self._schema)

    def _read(self, slices: list[int]) -> LoggedRows:
        _, chunks = self._log.read(slices)
        times, *rest = in_one(chunks, self._schema).columns
        width = len(self._plan.key_fields)
        return LoggedRows(times.to_numpy(), rest[:width], self._plan.aggregation.from_arrays(rest[width:]).thin())
