"""The protocol of chunk stores."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import pyarrow as pa


class Address(NamedTuple):
    """The address of a chunk: its space, its part (a slice, a window, a bucket), and its number in that part's log."""

    space: str
    part: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.space}/{self.part}/{self.sequence}"


Addresses = list[Address]


class ChunkStore(Protocol):
    """Chunks by address, changed step by step.

    The changes of a step become visible together with `commit`, or not at all with `rollback`. Inside the step,
    reads see what the step has changed.
    """

    def get(self, address: Address) -> pa.RecordBatch:
        """The chunk at `address`; a `StateError` if there is none."""
        ...

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        """Store `chunk` at `address`; a chunk that is there is replaced."""
        ...

    def delete(self, address: Address) -> None:
        """Delete the chunk at `address`; if there is none, nothing changes."""
        ...

    def list(self, space: str) -> Addresses:
        """The addresses of a space by slice and sequence; the caller may keep the list and change it."""
        ...

    def commit(self) -> None:
        """End the step: its changes are the state now."""
        ...

    def rollback(self) -> None:
        """End the step: its changes are dropped."""
        ...
