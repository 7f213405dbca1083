"""A part of a store that one of several owners has to itself."""

from __future__ import annotations

import pyarrow as pa

from fanlight.state.store import Address, Addresses, ChunkStore


class Room:
    """A `ChunkStore` inside another one: its spaces have a prefix there, so that no two rooms share an address.

    All rooms of a store commit and roll back together. With `held`, only the owner of the store commits: what is a
    step for each room is a part of a greater one.

    >>> from fanlight.state.memory import MemoryStore
    >>> store = MemoryStore()
    >>> Room(store, "2.").put(Address("sort", 0, 0), pa.record_batch({"v": [1]}))
    >>> [str(address) for address in store.list("2.sort")]
    ['2.sort/0/0']
    """

    def __init__(self, store: ChunkStore, prefix: str, *, held: bool = False) -> None:
        self._store = store
        self._prefix = prefix
        self._held = held

    def get(self, address: Address) -> pa.RecordBatch:
        """The chunk at `address`."""
        return self._store.get(self.outside(address))

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        """Store `chunk` at `address`."""
        self._store.put(self.outside(address), chunk)

    def delete(self, address: Address) -> None:
        """Delete the chunk at `address`."""
        self._store.delete(self.outside(address))

    def list(self, space: str) -> Addresses:
        """The addresses of a space by slice and sequence."""
        return [address._replace(space=space) for address in self._store.list(self._prefix + space)]

    def commit(self) -> None:
        """End the step of the whole store: its changes are the state now. If it is held, the step goes on."""
        if not self._held:
            self._store.commit()

    def rollback(self) -> None:
        """End the step of the whole store: its changes are dropped."""
        self._store.rollback()

    def outside(self, address: Address) -> Address:
        """The address in the store around it."""
        return address._replace(space=self._prefix + address.space)
