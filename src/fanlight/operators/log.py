"""A log of chunks for each slice: taking in appends, firing reads, retiring deletes whole slices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints, runs
from fanlight.kernels.keys import encode
from fanlight.kernels.pairs import Pairs
from fanlight.operators.plan import Plan
from fanlight.state.store import Address, ChunkStore

_CROWDED = 16
"""A slice with this many chunks is compacted when the next one comes."""


def in_one(chunks: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Chunks one after the other, as one."""
    if len(chunks) == 1:
        return chunks[0]
    table = pa.Table.from_batches(chunks, schema=schema).combine_chunks()
    return table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], schema=schema)


class ChunkLog:
    """The chunks of one space, by slice. The directory is derived from the store and can be lost at any time."""

    def __init__(self, store: ChunkStore, space: str) -> None:
        self._store = store
        self._space = space
        self._directory: dict[int, list[int]] = {}
        self._next = 0
        self._slices: Ints | None = None  # those of the directory in order; None if they are to be ordered again
        for address in store.list(space):
            self._directory.setdefault(address.slice, []).append(address.sequence)
            self._next = max(self._next, address.sequence + 1)

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        if self._slices is None:
            self._slices = np.array(sorted(self._directory), np.int64)
        return self._slices

    def append(self, slices: Ints, batch: pa.RecordBatch) -> list[int]:
        """Add rows, which are ordered by slice, to the logs of their slices; which those are."""
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
        return [slice_ for slice_ in slices if len(self._directory.get(slice_, ())) >= _CROWDED]

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


class PartialLog:
    """Partials by slice and key."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._schema = pa.schema([*plan.key_fields, *plan.fold.fields])
        self._log = ChunkLog(store, "partials")

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        return self._log.slices

    def append(self, slices: Ints, keys: list[pa.Array], partials: Partials) -> None:
        """Add partials, which are ordered by slice."""
        touched = self._log.append(slices, self._chunk(keys, partials))
        for slice_ in self._log.crowded(touched):
            _, merged_keys, merged = self._merged([slice_])
            self._log.replace(slice_, self._chunk(merged_keys, merged))

    def read(self, slices: Iterable[int]) -> tuple[Ints, list[pa.Array], Partials]:
        """The rows of these slices as they lie in the log: slice, keys, partials; a key may occur more than once."""
        owners, chunks = self._log.read(slices)
        batch = in_one(chunks, self._schema)
        width = len(self._plan.spec.keys)
        rows = np.repeat(owners, [len(chunk) for chunk in chunks]) if chunks else owners
        return rows, batch.columns[:width], self._plan.fold.from_arrays(batch.columns[width:])

    def retire(self, slices: Iterable[int]) -> None:
        """Delete whole slices."""
        self._log.retire(slices)

    def _merged(self, slices: list[int]) -> tuple[Ints, list[pa.Array], Partials]:
        owners, keys, partials = self.read(slices)
        found = encode(keys, len(owners))
        pairs = Pairs.of(owners, found.codes, found.count)
        outer, codes, merged = pairs.settle(self._plan.fold.merge(partials, pairs.groups))
        return outer, found.take(codes), merged

    def _chunk(self, keys: list[pa.Array], partials: Partials) -> pa.RecordBatch:
        return pa.record_batch([*keys, *self._plan.fold.to_arrays(partials)], schema=self._schema)
