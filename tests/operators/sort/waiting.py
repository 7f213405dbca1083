"""A sort buffer in a store, as the tests use it: rows go in as Python values and come out so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.state.memory import MemoryStore

Row = tuple[Any, ...]
"""A time in microseconds, then the values of the row's columns."""

LETTERS = pa.schema({"v": pa.string()})


class Waiting:
    """A buffer that can be closed and opened again on its store."""

    def __init__(
        self,
        schema: pa.Schema = LETTERS,
        *,
        ties: Sequence[str] = (),
        unique: Sequence[str] = (),
        store: MemoryStore | None = None,
        part_rows: int = 1 << 14,
    ) -> None:
        self.schema, self.ties, self.unique, self.part_rows = schema, ties, unique, part_rows
        self.store = MemoryStore() if store is None else store
        self.reopen()

    def reopen(self) -> None:
        self.buffer = SortBuffer(self.store, self.schema, ties=self.ties, unique=self.unique, part_rows=self.part_rows)

    def restore(self) -> None:
        """Write everything down, read it back, and go on."""
        self.store.commit()
        self.store = MemoryStore.restore(self.store.snapshot())
        self.reopen()

    def insert(self, *rows: Row) -> None:
        self.buffer.insert(*self.columns(rows))

    def delete(self, *rows: Row) -> list[bool]:
        return self.buffer.delete(*self.columns(rows)).tolist()

    def apply(self, *changes: tuple[str, Row]) -> list[bool]:
        batch, times = self.columns([row for _, row in changes])
        return self.buffer.apply(batch, times, pa.array([op for op, _ in changes], pa.string())).tolist()

    def take(self, watermark: int = END_OF_TIME) -> list[Row]:
        return [
            (time, *row.values())
            for rows, times in self.buffer.take(watermark)
            for time, row in zip(times.tolist(), rows.to_pylist(), strict=True)
        ]

    def columns(self, rows: Iterable[Row]) -> tuple[pa.RecordBatch, np.typing.NDArray[np.int64]]:
        rows = list(rows)
        columns = [pa.array([row[place + 1] for row in rows], field.type) for place, field in enumerate(self.schema)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), np.array([row[0] for row in rows], np.int64)
