"""The sessions of a join that are not complete: their keys and their bounds, of the rows of both sides together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.columnar import Columnar
from fanlight.kernels.grouping.groups import Ints, encode
from fanlight.kernels.sessions.cluster import cluster
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class KeyedSessions(Columnar):
    """Intervals of keys: each has its own, and those of one key may overlap."""

    starts: Ints
    ends: Ints
    keys: list[pa.Array]

    def merged(self, *, touching: bool) -> KeyedSessions:
        """The intervals of each key that overlap made one."""
        codes = encode(self.keys, len(self.starts)).codes.astype(np.int64, copy=False)
        found = cluster(codes, self.starts, self.ends, touching=touching)
        first = np.empty(len(found.starts), np.int64)
        first[found.groups.codes] = np.arange(len(codes))  # any row of a cluster has its key
        return KeyedSessions(found.starts, found.ends, [key.take(pa.array(first)) for key in self.keys])


class LiveSessions:
    """One chunk that has them all; it is written again when they change."""

    def __init__(self, store: ChunkStore, keys: list[pa.Field]) -> None:
        bounds = [pa.field(name, pa.int64()) for name in ("start", "end")]
        self._stored = pa.schema([*bounds, *keys])
        self._log = ChunkLog(store, "sessions")

    def read(self) -> KeyedSessions:
        """All of them."""
        _, chunks = self._log.read([0])
        chunk = in_one(chunks, self._stored)
        starts, ends = (chunk.column(place).to_numpy() for place in range(2))
        keys = zip(chunk.columns[2:], list(self._stored)[2:], strict=True)
        # a key without a value has got its type since
        return KeyedSessions(starts, ends, [key.cast(field.type) for key, field in keys])

    def write(self, sessions: KeyedSessions) -> None:
        """Put these in the place of all."""
        if not len(sessions):
            self._log.retire([0])
            return
        columns = [pa.array(sessions.starts), pa.array(sessions.ends), *sessions.keys]
        self._log.replace(0, pa.RecordBatch.from_arrays(columns, schema=self._stored))
