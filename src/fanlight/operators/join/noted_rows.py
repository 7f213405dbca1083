"""Rows of a side that something is noted of: their arrival numbers, in chunks that go with their times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.chunk_log import CROWDED, ChunkLog, in_one
from fanlight.operators.join.side_log import SideRows
from fanlight.state.store import ChunkStore

_STORED = pa.schema({"time": pa.int64(), "came": pa.int64()})


class NotedRows:
    """Rows that have a match, or were taken back. The rows themselves are never written again for it."""

    def __init__(self, store: ChunkStore, space: str) -> None:
        self._log = ChunkLog(store, space)

    def marks(self, rows: SideRows) -> Bools:
        """Which of these rows are noted."""
        if not len(rows):
            return np.zeros(0, np.bool_)
        slices = self._log.slices
        _, chunks = self._log.read(slices[np.searchsorted(slices, rows.times.min()) :].tolist())
        known: Ints = in_one(chunks, _STORED).column("came").to_numpy()
        return np.isin(rows.came, known)

    def note(self, rows: SideRows, horizon: Timestamp) -> None:
        """Note these rows; each is noted once. Those before `horizon` are asked for no more.

        Where many chunks become one, rows before it go: that one has the time of its latest row, and would keep them.
        """
        if not len(rows):
            return
        chunk = pa.RecordBatch.from_arrays([pa.array(rows.times), pa.array(rows.came)], schema=_STORED)
        slices = self._log.slices
        if len(slices) >= CROWDED:
            _, chunks = self._log.read(slices.tolist())
            self._log.retire(slices.tolist())
            chunk = in_one([*chunks, chunk], _STORED)
            chunk = chunk.filter(pa.array(chunk.column("time").to_numpy() >= horizon))
        latest = int(chunk.column("time").to_numpy().max())
        self._log.append(np.full(len(chunk), latest), chunk)

    def retire(self, horizon: Timestamp) -> None:
        """Forget the rows before `horizon`."""
        slices = self._log.slices
        self._log.retire(slices[: np.searchsorted(slices, horizon)].tolist())
