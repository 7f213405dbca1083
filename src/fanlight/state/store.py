"""What a store of chunks promises; every store keeps the same promises."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import pyarrow as pa


class Address(NamedTuple):
    """Where a chunk is: its space, its slice of the time axis, its number in the log of that slice."""

    space: str
    slice: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.space}/{self.slice}/{self.sequence}"


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
        """Keep `chunk` at `address`, in place of what may be there."""
        ...

    def delete(self, address: Address) -> None:
        """Forget the chunk at `address`; where there is none, nothing changes."""
        ...

    def list(self, space: str) -> Addresses:
        """The addresses of a space by slice and sequence; the caller may keep the list and change it."""
        ...

    def commit(self) -> None:
        """End the step: its changes are the state now."""
        ...

    def rollback(self) -> None:
        """End the step: it never was."""
        ...
