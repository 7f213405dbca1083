"""The ids that are kept, each with a time: looked up by hash, in the slices of time that are in reach."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.grouping.groups import Ints, KeyCodes, encode_together
from fanlight.kernels.row_hashes import row_hashes
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.state.store import ChunkStore

_OWN = "v."
"""A prefix of the id's own columns, so that no name collides with the other columns."""
_SLICES = 4
"""How many slices a reach is cut into. If more, a step looks into more chunks; if less, ids are kept longer."""
_SHORTEST = 10_000_000
"""No slice is shorter than 10 s: where the watermark is far behind, a short reach would make very many."""

Hashes = NDArray[np.uint64]


class KeptIds:
    """Ids with their times, in a log of chunks for each slice of time.

        slices    |  ▪▪  |  ▪▪▪ |  ▪   |  ▪▪  |  ▪▪▪ |  ▪
                  ◄── forgotten as one ──►  ◄─ reach ─► time of a record

    The rows of a chunk are sorted by the hash of their id: a step searches for its own ids in each chunk that is in
    reach, and compares values only where a hash is found. All state is in the store.
    """

    def __init__(self, store: ChunkStore, ids: pa.Schema, reach: int) -> None:
        """`ids` are the columns of an id, `reach` is how far before and after a record one may be that counts."""
        own = [field.with_name(_OWN + field.name) for field in ids]
        self._stored = pa.schema([pa.field("time", pa.int64()), pa.field("hash", pa.uint64()), *own])
        self._log = ChunkLog(store, "unique")
        self._reach = reach
        self._width = max(reach // _SLICES, _SHORTEST)

    def find(self, keys: KeyCodes, times: Ints) -> tuple[Ints, Ints]:
        """The kept records of these ids that may be in reach of the times: the code of each, and its time."""
        _, chunks = self._log.read(self._slices_near(times))
        wanted = np.unique(_hashes_of(keys))
        sought = ((chunk, _places(chunk, wanted)) for chunk in chunks)
        found = in_one([chunk.take(pa.array(places)) for chunk, places in sought if len(places)], self._stored)
        if not len(found):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        _, own, codes = encode_together(keys.keys, keys.count, found.columns[2:], len(found))
        numbers = np.full(max(own.max(initial=0), codes.max(initial=0)) + 1, -1)
        numbers[own] = np.arange(keys.count)
        numbers = numbers[codes]
        is_same = numbers >= 0  # the others have the same hash, and other values
        return numbers[is_same], _times_of(found)[is_same]

    def insert(self, keys: KeyCodes, codes: Ints, times: Ints) -> None:
        """Keep the ids of these codes, each with its time."""
        if not len(codes):
            return
        hashes, slices = _hashes_of(keys)[codes], times // self._width
        order = np.lexsort([hashes, slices])
        columns = [pa.array(times[order]), pa.array(hashes[order]), *keys.take(codes[order])]
        touched = self._log.append(slices[order], pa.RecordBatch.from_arrays(columns, schema=self._stored))
        for slice_ in self._log.crowded(touched):
            whole = in_one(self._log.read([slice_])[1], self._stored)
            self._log.replace(slice_, whole.take(pa.array(np.argsort(_chunk_hashes(whole), kind="stable"))))

    def forget(self, horizon: Timestamp) -> None:
        """Delete the slices in which every time is below the horizon."""
        slices = self._log.slices
        self._log.retire(slices[: np.searchsorted(slices, horizon // self._width)].tolist())

    def _slices_near(self, times: Ints) -> list[int]:
        """The slices that hold a time in reach of one of these."""
        slices = self._log.slices
        if not len(slices) or not len(times):
            return []
        ordered = np.sort(times)
        least = slices * self._width - self._reach
        nearest = np.searchsorted(ordered, least)
        reached = np.append(ordered, np.iinfo(np.int64).max)[nearest] <= least + (self._width - 1 + 2 * self._reach)
        found: list[int] = slices[reached].tolist()
        return found


def _places(chunk: pa.RecordBatch, wanted: Hashes) -> Ints:
    """The rows of a chunk that have one of the wanted hashes, which are sorted and distinct."""
    hashes = _chunk_hashes(chunk)
    if len(hashes) <= len(wanted):  # the shorter side is searched for in the longer one
        nearest = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        return np.flatnonzero(wanted[nearest] == hashes)
    low, high = np.searchsorted(hashes, wanted), np.searchsorted(hashes, wanted, side="right")
    sizes = high - low
    ends = np.cumsum(sizes)
    return np.repeat(high - ends, sizes) + np.arange(ends[-1])


def _hashes_of(keys: KeyCodes) -> Hashes:
    return row_hashes(keys.keys, keys.count)


def _chunk_hashes(chunk: pa.RecordBatch) -> Hashes:
    hashes: Hashes = chunk.column(1).to_numpy()
    return hashes


def _times_of(chunk: pa.RecordBatch) -> Ints:
    times: Ints = chunk.column(0).to_numpy()
    return times
