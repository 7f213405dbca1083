"""The log of chunks: appended, read, replaced and retired by slice; and chunks joined without losing any."""

from __future__ import annotations

import mmap
import struct

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.operators.chunk_log import CROWDED, ChunkLog, in_one
from fanlight.state.memory import MemoryStore

SCHEMA = pa.schema({"v": pa.int64()})


def numbers(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"v": list(values)}, schema=SCHEMA)


def read(log: ChunkLog, *slices: int) -> list[tuple[int, list[int]]]:
    owners, chunks = log.read(slices)
    return [(owner, chunk.column("v").to_pylist()) for owner, chunk in zip(owners.tolist(), chunks, strict=True)]


class TestLog:
    def test_rows_go_to_the_logs_of_their_slices_and_are_read_oldest_first(self) -> None:
        log = ChunkLog(MemoryStore(), "rows")
        assert log.append(np.array([-1, 3, 3]), numbers(1, 2, 3)) == [-1, 3]
        log.append(np.array([3]), numbers(4))
        assert log.slices.tolist() == [-1, 3]
        assert read(log, 3, -1, 7) == [(3, [2, 3]), (3, [4]), (-1, [1])]

    def test_a_log_made_again_on_the_same_store_goes_on(self) -> None:
        """Its next chunk is newer than all that were there."""
        store = MemoryStore()
        ChunkLog(store, "rows").append(np.array([3, 5]), numbers(1, 2))
        log = ChunkLog(store, "rows")
        log.append(np.array([3]), numbers(3))
        assert read(log, 3, 5) == [(3, [1]), (3, [3]), (5, [2])]
        assert ChunkLog(store, "others").slices.tolist() == []

    def test_a_slice_with_many_chunks_is_crowded_until_one_takes_their_place(self) -> None:
        log = ChunkLog(MemoryStore(), "rows")
        for number in range(CROWDED):
            assert log.crowded([3]) == []
            log.append(np.array([3]), numbers(number))
        assert log.crowded([3, 4]) == [3]
        log.replace(3, numbers(99))
        assert read(log, 3) == [(3, [99])]
        assert log.crowded([3]) == []

    def test_retiring_deletes_whole_slices(self) -> None:
        store = MemoryStore()
        log = ChunkLog(store, "rows")
        log.append(np.array([3, 5]), numbers(1, 2))
        log.retire([3, 4])
        assert log.slices.tolist() == [5]
        assert [address.part for address in store.list("rows")] == [5]


class TestInOne:
    def test_chunks_follow_one_another(self) -> None:
        assert in_one([numbers(1), numbers(2, 3)], SCHEMA).equals(numbers(1, 2, 3))
        assert in_one([], SCHEMA).equals(numbers())

    def test_more_text_than_a_column_can_hold_is_an_error_and_nothing_is_lost(self) -> None:
        """Two texts of 1 GiB: offsets of 32 bits end at 2 GiB - 1. The memory is never touched, so none is used."""
        offsets = pa.py_buffer(struct.pack("<ii", 0, 1 << 30))
        text = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(mmap.mmap(-1, 1 << 30)))
        chunk = pa.record_batch({"t": text})
        with pytest.raises(fl.EngineError, match=r"`string` to `large_string`.*in the `schema`"):
            in_one([chunk, chunk], chunk.schema)
