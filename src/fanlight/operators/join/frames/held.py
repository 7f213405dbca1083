"""Pairs that wait for the clock: those of each period of an update leave together when the next one begins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import Timestamp
from fanlight.model.triggers import Every
from fanlight.operators.chunk_log import ChunkLog
from fanlight.state.store import ChunkStore


class HeldPairs:
    """Joined rows, by the period of the clock in which they were made."""

    def __init__(self, store: ChunkStore, space: str, schema: pa.Schema, every: Every) -> None:
        self._log = ChunkLog(store, space)
        self._schema = schema
        self._period = every.period.micros

    def hold(self, rows: list[pa.RecordBatch], clock: Timestamp) -> None:
        """Hold rows back that were made at this clock."""
        for batch in rows:
            self._log.append(np.full(len(batch), clock // self._period), batch)

    def due(self, clock: Timestamp, *, ends: bool) -> list[pa.RecordBatch]:
        """The rows of the periods that are over, in the order they were made; they are held no more."""
        slices = self._log.slices
        over = slices if ends else slices[: np.searchsorted(slices, clock // self._period)]
        _, chunks = self._log.read(over.tolist())
        self._log.retire(over.tolist())
        return [_typed(chunk, self._schema) for chunk in chunks]


def _typed(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A chunk whose columns without a value have got their types since."""
    return chunk if chunk.schema == schema else chunk.cast(schema)
