"""The wire format of chunks between the tasks of one batch: a narrowed Arrow IPC stream without a frame.

Stored chunks have a version and a checksum (`fanlight.state.codec`). Chunks on the wire need neither: Spark's shuffle
checks them, and the code that wrote them reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fanlight.state.codec import narrowed, widened

_AROUND = 1 << 12
"""More bytes than an IPC stream adds to its schema and its batch."""
_BYTES = 1 << 20
"""No chunk is much larger: whoever opens one has it in memory whole.

Java copies a chunk several times, and to its collector any array of more than half a region is huge: with chunks of 16
MB a batch took an eighth longer.
"""


def in_pieces(rows: pa.RecordBatch, size: int = _BYTES) -> list[pa.RecordBatch]:
    """Rows in chunks of about `size` bytes at most, in their order.

    >>> [len(piece) for piece in in_pieces(pa.record_batch({"n": range(5)}), size=16)]
    [2, 2, 1]
    """
    count = max(1, -(-rows.nbytes // size))
    length = max(1, -(-len(rows) // count))
    return [rows.slice(start, length) for start in range(0, max(len(rows), 1), length)]


def packed(chunk: pa.RecordBatch) -> bytes:
    """The bytes of a chunk.

    >>> opened(packed(pa.record_batch({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    written, _ = _written([chunk])
    # Not through an Arrow array: its values would be copied twice on their way to Python.
    data: bytes = written.to_pybytes()
    return data


def packed_each(chunks: Sequence[pa.RecordBatch]) -> pa.BinaryArray:
    """The bytes of several chunks, written once, without a copy."""
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
