"""A store that can be asked what a step has read and written."""

from __future__ import annotations

import pyarrow as pa

from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address


class WatchedStore(MemoryStore):
    """A store that notes which slices of one space are read and written."""

    def __init__(self, space: str) -> None:
        super().__init__()
        self._space = space
        self.forget()

    def get(self, address: Address) -> pa.RecordBatch:
        if address.space == self._space:
            self.read.append(address.part)
        return super().get(address)

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        if address.space == self._space:
            self.written.append(address.part)
        super().put(address, chunk)

    def forget(self) -> None:
        self.read: list[int] = []
        self.written: list[int] = []
