"""The rows of one side of a join that may still find a match, in chunks sorted by key and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.sort_key_time import sort_by_key_time
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.state.store import ChunkStore

_OWN = "v."
"""A prefix of the rows' own columns, so that no name collides with the columns beside them."""
_LARGE = 1 << 16
"""Chunks of this many rows are not merged any more."""


@dataclass(frozen=True, slots=True)
class SideRows(Columnar):
    """Rows of one side: their times, their arrival numbers, the codes of their keys, and their own columns."""

    times: Ints
    came: Ints
    codes: Ints
    """The key as one number: itself if it is a whole number, otherwise its hash; equal keys have equal codes."""
    columns: list[pa.Array]

    def by_key(self) -> SideRows:
        """The same rows by key, then by time, then as they came."""
        codes, times = self.codes, self.times
        if ((codes[1:] > codes[:-1]) | ((codes[1:] == codes[:-1]) & (times[1:] >= times[:-1]))).all():
            return self
        order, codes, times = sort_by_key_time(codes, times)
        places = pa.array(order)
        return SideRows(times, self.came[order], codes, [column.take(places) for column in self.columns])


class SideLog:
    """A log of chunks, each sorted by key and time. A chunk is known by its latest time, and goes as a whole.

    Rows are never written again, except that small chunks are merged: a chunk takes in those after it that are not
    much smaller than itself, so there are few of them, and a row is written a few times at most.
    """

    def __init__(
        self, store: ChunkStore, space: str, own: pa.Schema, thinned: Callable[[SideRows], SideRows] | None = None
    ) -> None:
        """A log in a space of the store. Where chunks become one, only those rows are kept that `thinned` leaves."""
        numbers = [pa.field(name, pa.int64()) for name in ("time", "came", "code")]
        self._stored = pa.schema([*numbers, *(field.with_name(_OWN + field.name) for field in own)])
        self._log = ChunkLog(store, space)
        self._thinned = thinned

    def append(self, rows: SideRows) -> None:
        """Keep rows, which are sorted by key and time."""
        if not len(rows):
            return
        latest = self._place(rows)
        for part in reversed(self._log.slices.tolist()):
            (_, chunks) = self._log.read([part])
            size = sum(map(len, chunks))
            if size > 2 * len(rows) or (self._thinned is None and size + len(rows) > _LARGE):
                break
            merged = SideRows.concat([*map(self._rows, chunks), rows])
            rows, latest = merged.take(np.lexsort([merged.came, merged.times, merged.codes])), max(latest, part)
            rows = rows if self._thinned is None else self._thinned(rows)
            self._log.retire([part])
        self._log.append(np.full(len(rows), latest), self._chunk(rows))

    def since(self, least: Timestamp) -> Iterator[SideRows]:
        """The chunks that have a row at `least` or later; they may have earlier ones too."""
        slices = self._log.slices
        _, chunks = self._log.read(slices[np.searchsorted(slices, least) :].tolist())
        yield from map(self._rows, chunks)

    def between(self, low: Timestamp, high: Timestamp) -> SideRows:
        """The rows from `low` up to, not including, `high`."""
        found = [rows.where((rows.times >= low) & (rows.times < high)) for rows in self.since(low)]
        return SideRows.concat(found) if found else self.nothing()

    @staticmethod
    def _place(rows: SideRows) -> int:
        """What a chunk of these rows is known by."""
        return int(rows.times.max())

    def due(self, low: Timestamp, high: Timestamp) -> tuple[SideRows, Ints]:
        """Rows, and the places of those among them that are from `low` up to, not including, `high`.

        Where these are most of what is kept, nothing is copied to leave the others out.
        """
        chunks = [*self.since(low)] if high > low else []
        inside = [(chunk.times >= low) & (chunk.times < high) for chunk in chunks]
        found = sum(map(np.count_nonzero, inside))
        if not found:
            return self.nothing(), np.zeros(0, np.int64)
        if 2 * found < sum(map(len, chunks)):
            chunks = [chunk.where(mask) for chunk, mask in zip(chunks, inside, strict=True)]
            return SideRows.concat(chunks), np.arange(found)
        return SideRows.concat(chunks), np.flatnonzero(np.concatenate(inside))

    def retire(self, horizon: Timestamp) -> None:
        """Delete the chunks in which every row is before `horizon`."""
        slices = self._log.slices
        self._log.retire(slices[: np.searchsorted(slices, horizon)].tolist())

    def drop(self, horizon: Timestamp) -> None:
        """Delete the rows before `horizon`, but for those in chunks that are mostly not."""
        self.retire(horizon)
        self.keep(lambda rows: rows.times >= horizon)

    def keep(self, stays: Callable[[SideRows], Bools]) -> None:
        """Delete the rows that do not stay, but for those in chunks that mostly do."""
        for part in self._log.slices.tolist():
            _, chunks = self._log.read([part])
            rows = SideRows.concat([*map(self._rows, chunks)])
            kept = stays(rows)
            if not kept.any():
                self._log.retire([part])
            elif 2 * np.count_nonzero(kept) < len(rows):
                self._log.replace(part, self._chunk(rows.where(kept)))

    def nothing(self) -> SideRows:
        """No rows."""
        return self._rows(in_one([], self._stored))

    def _chunk(self, rows: SideRows) -> pa.RecordBatch:
        numbers = [pa.array(one) for one in (rows.times, rows.came, rows.codes)]
        return pa.RecordBatch.from_arrays([*numbers, *rows.columns], schema=self._stored)

    def _rows(self, chunk: pa.RecordBatch) -> SideRows:
        times, came, codes = (chunk.column(place).to_numpy() for place in range(3))
        own = zip(chunk.columns[3:], list(self._stored)[3:], strict=True)
        # a column without a value has got its type since
        return SideRows(
            times, came, codes, [one if one.type == field.type else one.cast(field.type) for one, field in own]
        )
