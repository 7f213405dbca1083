"""Chunks on their way between the tasks of one batch: narrowed, as an Arrow IPC stream, and nothing around it.

What is kept carries a version and a checksum (`fanlight.state.codec`); what only travels is checked by Spark's shuffle
and read by the code that wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fanlight.state.narrow import narrowed, widened

_AROUND = 1 << 12
"""More than an IPC stream needs around its schema and its batch."""


def packed(chunk: pa.RecordBatch) -> bytes:
    """The bytes of a chunk.

    >>> opened(packed(pa.record_batch({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    written, _ = _written([chunk])
    # Not by way of an array: its values are copied twice on their way to Python.
    data: bytes = written.to_pybytes()
    return data


def packed_each(chunks: Sequence[pa.RecordBatch]) -> pa.BinaryArray:
    """The bytes of some chunks, written once to where they stay."""
    written, ends = _written(chunks)
    offsets = pa.py_buffer(np.array(ends, np.int32))
    return pa.Array.from_buffers(pa.binary(), len(chunks), [None, offsets, written])


def _written(chunks: Sequence[pa.RecordBatch]) -> tuple[pa.Buffer, list[int]]:
    """The streams of chunks one after the other, and where they start and end."""
    narrow = [narrowed(chunk) for chunk in chunks]
    room = sum(pa.ipc.get_record_batch_size(chunk) + chunk.schema.serialize().size + _AROUND for chunk in narrow)
    data = pa.allocate_buffer(room)
    ends = [0]
    with pa.FixedSizeBufferWriter(data) as sink:
        for chunk in narrow:
            with pa.ipc.new_stream(sink, chunk.schema) as writer:
                writer.write_batch(chunk)
            ends.append(sink.tell())
    return data.slice(0, ends[-1]), ends


def opened(data: bytes | pa.Buffer) -> pa.RecordBatch:
    """The chunk that `packed` wrote; its columns are views of `data` where they were not narrowed."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return widened(reader.read_next_batch())
