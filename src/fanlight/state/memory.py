"""Chunks in memory: held as they are, gone with the process unless a snapshot was taken."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Any, Self

import pyarrow as pa

from fanlight.errors import StateError
from fanlight.state.codec import decode_snapshot, encode_snapshot
from fanlight.state.store import Address, Addresses


class MemoryStore:
    """A `ChunkStore` of plain references.

    Steps write in place and remember what was there before, so that committing is free and rolling back costs what
    the step changed.

    >>> store = MemoryStore()
    >>> store.put(Address("partials", 0, 0), pa.record_batch({"n": [1]}))
    >>> store.rollback()
    >>> len(store)
    0
    """

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        """What the snapshot this store was restored from said besides its chunks."""
        self._chunks: dict[Address, pa.RecordBatch] = {}
        self._spaces: dict[str, Addresses] = {}
        self._before: dict[Address, pa.RecordBatch | None] = {}

    def __len__(self) -> int:
        return len(self._chunks)

    def get(self, address: Address) -> pa.RecordBatch:
        try:
            return self._chunks[address]
        except KeyError:
            raise StateError(
                f"No chunk is stored at {address}; what it held cannot be read. "
                "Restore the last snapshot, or start without this state."
            ) from None

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        self._before.setdefault(address, self._chunks.get(address))
        self._place(address, chunk)

    def delete(self, address: Address) -> None:
        if address in self._chunks:
            self._before.setdefault(address, self._chunks[address])
            self._remove(address)

    def list(self, space: str) -> Addresses:
        return self._spaces.get(space, []).copy()

    def commit(self) -> None:
        self._before.clear()

    def rollback(self) -> None:
        for address, chunk in self._before.items():
            if chunk is not None:
                self._place(address, chunk)
            elif address in self._chunks:
                self._remove(address)
        self._before.clear()

    def snapshot(self, metadata: Mapping[str, Any] | None = None) -> bytes:
        """The committed state and `metadata`, which JSON must be able to write; equal states give equal bytes."""
        committed = self._chunks | {address: chunk for address, chunk in self._before.items() if chunk is not None}
        for address, chunk in self._before.items():
            if chunk is None:
                committed.pop(address, None)
        return encode_snapshot(committed, metadata or {})

    @classmethod
    def restore(cls, data: bytes) -> Self:
        """The store that `snapshot` described; a `StateError` if the bytes are not what it wrote."""
        chunks, metadata = decode_snapshot(data)
        store = cls()
        store.metadata = metadata
        for address, chunk in chunks.items():
            store._place(address, chunk)
        return store

    def _place(self, address: Address, chunk: pa.RecordBatch) -> None:
        if address not in self._chunks:
            insort(self._spaces.setdefault(address.space, []), address)
        self._chunks[address] = chunk

    def _remove(self, address: Address) -> None:
        del self._chunks[address]
        directory = self._spaces[address.space]
        del directory[bisect_left(directory, address)]
        if not directory:
            del self._spaces[address.space]
