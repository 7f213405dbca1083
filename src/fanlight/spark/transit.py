"""Chunks on their way between the tasks of one batch: an Arrow IPC stream, and nothing around it.

What is kept carries a version and a checksum (`fanlight.state.codec`); what only travels is checked by Spark's shuffle
and read by the code that wrote it.
"""

from __future__ import annotations

import pyarrow as pa


def packed(chunk: pa.RecordBatch) -> bytes:
    """The bytes of a chunk.

    >>> opened(packed(pa.record_batch({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.schema) as writer:
        writer.write_batch(chunk)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def opened(data: bytes) -> pa.RecordBatch:
    """The chunk that `packed` wrote; its columns are views of `data`."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
