"""A log of chunks for each slice: records are appended, firings read them, and retiring deletes whole slices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fanlight.errors import EngineError
from fanlight.kernels.grouping.groups import Ints, runs
from fanlight.state.store import Address, ChunkStore

CROWDED = 16
"""A slice with this many chunks is compacted when the next one comes."""


def in_one(chunks: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Several chunks as one; an `EngineError` if one cannot hold them all."""
    if len(chunks) == 1:
        return chunks[0]
    try:
        return pa.concat_batches(chunks) if chunks else pa.RecordBatch.from_pylist([], schema=schema)
    except pa.ArrowInvalid as problem:
        raise EngineError(
            f"Rows that are read together do not fit in one column: {problem} Use that type in the `schema`; or "
            "let less be kept, with shorter windows or a smaller lateness."
        ) from problem


class ChunkLog:
    """The chunks of one space, by slice. The directory is derived from the store and can be lost at any time."""

    def __init__(self, store: ChunkStore, space: str) -> None:
        self._store = store
        self._space = space
        self._directory: dict[int, list[int]] = {}
        self._next = 0
        self._slices: Ints | None = None  # the slices of the directory in order; None if they must be sorted again
        for address in store.list(space):
            self._directory.setdefault(address.part, []).append(address.sequence)
            self._next = max(self._next, address.sequence + 1)

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        if self._slices is None:
            self._slices = np.array(sorted(self._directory), np.int64)
        return self._slices

    def append(self, slices: Ints, batch: pa.RecordBatch) -> list[int]:
        """Append rows, ordered by slice, to the logs of their slices; returns these slices."""
        bounds = runs(slices)
        touched: list[int] = slices[bounds[:-1]].tolist()
        for slice_, start, end in zip(touched, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._put(slice_, batch.slice(start, end - start))
        return touched

    def read(self, slices: Iterable[int]) -> tuple[Ints, list[pa.RecordBatch]]:
        """The chunks of these slices, oldest first in each: the slice of each chunk, and the chunks."""
        found = [(slice_, seq) for slice_ in slices for seq in self._directory.get(slice_, ())]
        chunks = [self._store.get(Address(self._space, slice_, seq)) for slice_, seq in found]
        return np.array([slice_ for slice_, _ in found], np.int64), chunks

    def crowded(self, slices: Iterable[int]) -> list[int]:
        """Which of these slices have too many chunks."""
        return [slice_ for slice_ in slices if len(self._directory.get(slice_, ())) >= CROWDED]

    def replace(self, slice_: int, batch: pa.RecordBatch) -> None:
        """Put one chunk in place of all of a slice."""
        self.retire([slice_])
        self._put(slice_, batch)

    def retire(self, slices: Iterable[int]) -> None:
        """Delete whole slices."""
        for slice_ in slices:
            self._slices = None
            for sequence in self._directory.pop(slice_, ()):
                self._store.delete(Address(self._space, slice_, sequence))

    def _put(self, slice_: int, batch: pa.RecordBatch) -> None:
        self._store.put(Address(self._space, slice_, self._next), batch)
        if slice_ not in self._directory:
            self._slices = None
        self._directory.setdefault(slice_, []).append(self._next)
        self._next += 1
