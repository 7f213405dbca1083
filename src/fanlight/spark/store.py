"""Chunks in Spark's state: few calls with large values, because every call is a round trip."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import MapState
from pyspark.sql.types import BinaryType, LongType, StringType, StructType

from fanlight.errors import StateError
from fanlight.state.codec import decode, encode
from fanlight.state.store import Address, Addresses

CHUNKS = "chunks"
"""The name of Fanlight's one map state."""
KEYS = StructType().add("space", StringType()).add("slice", LongType()).add("sequence", LongType())
VALUES = StructType().add("payload", BinaryType())
"""The types of its values. As types, not text: Spark would parse text for every partition of every batch."""
_COMPRESSION = "lz4"
"""State is written, checkpointed and read again: compression costs less than it saves."""


class SparkStore:
    """A `ChunkStore` over the map state of one shard.

    Spark makes a micro-batch's changes durable together, or repeats the batch; so `commit` writes the step's changes
    through, and a step that fails writes nothing.
    """

    def __init__(self, state: MapState) -> None:
        self._state = state
        self._directory = {Address(*key) for key in state.keys()}  # noqa: SIM118 -- no dict: a round trip
        self._read: dict[Address, pa.RecordBatch] = {}
        self._changed: dict[Address, pa.RecordBatch | None] = {}

    def get(self, address: Address) -> pa.RecordBatch:
        """The chunk at `address`."""
        changed = self._changed.get(address)
        if changed is not None:
            return changed
        if address not in self._read:
            value = None if address in self._changed else self._state.getValue(tuple(address))
            if value is None:
                raise StateError(f"No chunk is stored at {address}. Restart the query from its checkpoint.")
            self._read[address] = decode(bytes(value[0]))
        return self._read[address]

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        """Keep `chunk` at `address` when the step commits."""
        self._changed[address] = chunk

    def delete(self, address: Address) -> None:
        """Forget the chunk at `address` when the step commits."""
        self._changed[address] = None

    def list(self, space: str) -> Addresses:
        """The addresses of a space by slice and sequence."""
        gone = {address for address, chunk in self._changed.items() if chunk is None}
        new = {address for address, chunk in self._changed.items() if chunk is not None}
        return sorted(address for address in (self._directory - gone) | new if address.space == space)

    def commit(self) -> None:
        """Write the step's changes to Spark's state."""
        for address, chunk in self._changed.items():
            if chunk is not None:
                self._state.updateValue(tuple(address), (encode(chunk, _COMPRESSION),))
                self._directory.add(address)
                self._read[address] = chunk
            elif address in self._directory:
                self._state.removeKey(tuple(address))
                self._directory.discard(address)
                self._read.pop(address, None)
        self._changed.clear()

    def rollback(self) -> None:
        """Forget the step's changes."""
        self._changed.clear()
