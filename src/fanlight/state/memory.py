"""The store in memory: chunks are lost with the process unless a snapshot was taken."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any, Self

import pyarrow as pa

from fanlight.errors import StateError
from fanlight.state.snapshot import decode_snapshot, encode_snapshot
from fanlight.state.store import Address, Addresses


class MemoryStore:
    """A `ChunkStore` of plain references.

    A step's changes are in a write-set beside the state. `commit` makes them part of the state by one assignment, and
    merges them afterwards; if an interrupt stops the merge, the next call completes it. So whatever is raised, and
    wherever, the state is the one before the step or the one after it.

    >>> store = MemoryStore()
    >>> store.put(Address("partials", 0, 0), pa.record_batch({"n": [1]}))
    >>> store.rollback()
    >>> len(store)
    0
    """

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        """The metadata of the snapshot that this store was restored from."""
        self._spaces: dict[str, dict[Address, pa.RecordBatch]] = {}
        self._changed: dict[Address, pa.RecordBatch | None] = {}  # None marks a chunk to delete
        self._decided: dict[Address, pa.RecordBatch | None] | None = None  # committed, and not yet merged

    def __len__(self) -> int:
        return sum(len(self.list(space)) for space in self.spaces)

    @property
    def spaces(self) -> builtins.list[str]:
        """The spaces that hold anything."""
        named = {*self._spaces, *(address.space for address in self._changed)}
        return sorted(space for space in named if any(True for _ in self._in(space)))

    def get(self, address: Address) -> pa.RecordBatch:
        chunk = self._changed[address] if address in self._changed else self._stored(address)
        if chunk is None:
            raise StateError(
                f"No chunk is stored at {address}; what it held cannot be read. "
                "Restore the last snapshot, or start without this state."
            )
        return chunk

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        self._carry_over()
        self._changed[address] = chunk

    def delete(self, address: Address) -> None:
        self._carry_over()
        if self._stored(address) is not None:
            self._changed[address] = None
        else:
            self._changed.pop(address, None)

    def list(self, space: str) -> Addresses:
        return sorted(self._in(space))

    def commit(self) -> None:
        self._carry_over()
        self._decided = self._changed  # from here on, the step is committed
        self._carry_over()

    def rollback(self) -> None:
        self._carry_over()
        self._changed = {}

    def snapshot(
        self, metadata: Mapping[str, Any] | None = None, beside: Mapping[Address, pa.RecordBatch] | None = None
    ) -> bytes:
        """The committed state and `metadata`, which JSON must be able to write; equal states give equal bytes.

        `beside` are further chunks for the snapshot that are not part of the store.
        """
        self._carry_over()
        chunks = {address: chunk for space in self._spaces.values() for address, chunk in space.items()}
        return encode_snapshot(chunks | dict(beside or {}), metadata or {})

    @classmethod
    def restore(cls, data: bytes) -> Self:
        """The store that `snapshot` wrote; a `StateError` if the bytes are damaged."""
        chunks, metadata = decode_snapshot(data)
        store = cls()
        store.metadata = metadata
        for address, chunk in chunks.items():
            store.put(address, chunk)
        store.commit()
        return store

    def _in(self, space: str) -> Iterator[Address]:
        """The addresses of a space, as the step sees it, in no order."""
        stored, changed = self._spaces.get(space, {}), self._changed
        if not changed:
            yield from stored
            return
        yield from (address for address in stored if changed.get(address, stored) is not None)
        yield from (
            address
            for address, chunk in changed.items()
            if address.space == space and chunk is not None and address not in stored
        )

    def _stored(self, address: Address) -> pa.RecordBatch | None:
        space = self._spaces.get(address.space)
        return None if space is None else space.get(address)

    def _carry_over(self) -> None:
        """Merge the committed changes into the spaces. Doing it again from the start changes nothing."""
        if self._decided is None:
            return
        for address, chunk in self._decided.items():
            if chunk is None:
                self._spaces.get(address.space, {}).pop(address, None)
            else:
                self._spaces.setdefault(address.space, {})[address] = chunk
        self._changed = {}
        self._decided = None
