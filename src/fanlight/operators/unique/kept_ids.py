"""The ids that are kept, each with a time: looked up by hash, in the slices of time that are in reach."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.aggregates.hash64 import is_hashed
from fanlight.kernels.grouping.groups import Bools, Ints, KeyCodes, encode_together, order_of
from fanlight.kernels.row_hashes import Hashes, order_by_hash, row_hashes
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.state.store import ChunkStore

_OWN = "v."
"""A prefix of the id's own columns, so that no name collides with the other columns."""
_SLICES = 4
"""How many slices a reach is cut into. If more, a step looks into more chunks; if less, ids are kept longer."""
_SHORTEST = 10_000_000
"""No slice is shorter than 10 s: where the watermark is far behind, a short reach would make very many."""

_NONE: Ints = np.zeros(0, np.int64)


class HashedIds(NamedTuple):
    """The distinct ids of some records, and the hash of each."""

    keys: KeyCodes
    hashes: Hashes

    @staticmethod
    def of(keys: KeyCodes) -> HashedIds:
        """Hash the distinct ids."""
        return HashedIds(keys, row_hashes(keys.keys, keys.count))


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

    def find(self, ids: HashedIds, times: Ints) -> tuple[Ints, Ints]:
        """The kept records of these ids that may be in reach of the times: the code of each, and its time."""
        _, chunks = self._log.read(self._slices_near(times))
        if not chunks:
            return _NONE, _NONE
        order = order_by_hash(ids.hashes)
        wanted = ids.hashes[order]
        is_new = np.ones(len(wanted), np.bool_)
        np.not_equal(wanted[1:], wanted[:-1], out=is_new[1:])
        found, codes = self._with_hashes(chunks, wanted[is_new], order[is_new])
        if not len(found):
            return _NONE, _NONE
        if is_new.all() and all(_is_compared(kind) for kind in found.schema.types[2:]):
            is_same = _equal(found.columns[2:], ids.keys.take(codes))
        else:  # several ids have one hash, or values are not compared as Arrow does
            codes, is_same = _numbered(ids.keys, found.columns[2:], len(found))
        return codes[is_same], _times_of(found)[is_same]

    def _with_hashes(self, chunks: list[pa.RecordBatch], wanted: Hashes, codes: Ints) -> tuple[pa.RecordBatch, Ints]:
        """The rows that have one of the wanted hashes, which are sorted and distinct, and the code of each."""
        rows, numbers = [], [_NONE]
        for chunk in chunks:
            places, which = _places(chunk, wanted)
            if len(places):
                rows.append(chunk.take(pa.array(places)))
                numbers.append(codes[which])
        return in_one(rows, self._stored), np.concatenate(numbers)

    def insert(self, ids: HashedIds, codes: Ints, times: Ints) -> None:
        """Keep the ids of these codes, each with its time."""
        if not len(codes):
            return
        hashes, slices = ids.hashes[codes], times // self._width
        order = order_by_hash(hashes)
        order = order[order_of(slices[order])]
        columns = [pa.array(times[order]), pa.array(hashes[order]), *ids.keys.take(codes[order])]
        touched = self._log.append(slices[order], pa.RecordBatch.from_arrays(columns, schema=self._stored))
        for slice_ in self._log.crowded(touched):
            whole = in_one(self._log.read([slice_])[1], self._stored)
            self._log.replace(slice_, whole.take(pa.array(order_by_hash(_chunk_hashes(whole)))))

    def forget(self, horizon: Timestamp) -> None:
        """Delete the slices in which every time is below the horizon."""
        slices = self._log.slices
        self._log.retire(slices[: np.searchsorted(slices, horizon // self._width)].tolist())

    def _slices_near(self, times: Ints) -> list[int]:
        """The slices that hold a time in reach of one of these."""
        slices = self._log.slices
        if not len(slices) or not len(times):
            return []
        least = slices * self._width - self._reach
        most = least + (self._width - 1 + 2 * self._reach)
        first, last = times.min(), times.max()
        near = (least <= last) & (first <= most)
        if (between := near & (first < least) & (most < last)).any():  # times may be far apart, with none near these
            ordered = np.sort(times)
            near[between] = ordered[np.searchsorted(ordered, least[between])] <= most[between]
        found: list[int] = slices[near].tolist()
        return found


def _places(chunk: pa.RecordBatch, wanted: Hashes) -> tuple[Ints, Ints]:
    """The rows of a chunk that have one of the wanted hashes, which are sorted and distinct; and which one each has."""
    hashes = _chunk_hashes(chunk)
    if len(hashes) <= len(wanted):  # the shorter side is searched for in the longer one
        nearest = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
        places = np.flatnonzero(wanted[nearest] == hashes)
        return places, nearest[places]
    low, high = np.searchsorted(hashes, wanted), np.searchsorted(hashes, wanted, side="right")
    sizes = high - low
    ends = np.cumsum(sizes)
    return np.repeat(high - ends, sizes) + np.arange(ends[-1]), np.repeat(np.arange(len(wanted)), sizes)


def _numbered(keys: KeyCodes, columns: list[pa.Array], rows: int) -> tuple[Ints, Bools]:
    """The codes of ids among these keys, and which ids are among them at all."""
    _, own, codes = encode_together(keys.keys, keys.count, columns, rows)
    numbers = np.full(max(own.max(initial=0), codes.max(initial=0)) + 1, -1)
    numbers[own] = np.arange(keys.count)
    return numbers[codes], numbers[codes] >= 0


def _is_compared(kind: pa.DataType) -> bool:
    """Whether values are equal as keys where Arrow says so; a NaN is not, and zero has a sign."""
    return is_hashed(kind) and not pa.types.is_floating(kind)


def _equal(some: list[pa.Array], others: list[pa.Array]) -> Bools:
    """Which rows are equal, null to null."""
    equal = np.ones(len(some[0]), np.bool_)
    for one, other in zip(some, others, strict=True):
        same = pc.equal(one, other)
        if same.null_count:
            same = pc.if_else(pc.is_null(same), pc.and_(one.is_null(), other.is_null()), same)
        equal &= same.to_numpy(zero_copy_only=False)
    return equal


def _chunk_hashes(chunk: pa.RecordBatch) -> Hashes:
    hashes: Hashes = chunk.column(1).to_numpy()
    return hashes


def _times_of(chunk: pa.RecordBatch) -> Ints:
    times: Ints = chunk.column(0).to_numpy()
    return times
