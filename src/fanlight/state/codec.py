"""Chunks as bytes: an Arrow IPC stream in a frame.

The stream has its whole numbers narrowed (`fanlight.state.narrow`). Nothing is pickled. The same content gives the same
bytes, however its columns were made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import StateError
from fanlight.state.frame import FrameKind, framed, payload_of
from fanlight.state.narrow import narrowed, widened

_VIEWS: dict[pa.DataType, pa.DataType] = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}


def encode(chunk: pa.RecordBatch, compression: str | None = None) -> bytes:
    """The bytes of a chunk, its columns compressed if Arrow is told how ('lz4', 'zstd').

    >>> decode(encode(pa.record_batch({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    return framed(FrameKind.CHUNK, [stream_of(chunk, compression)])


def decode(data: bytes) -> pa.RecordBatch:
    """The chunk that `encode` wrote; its columns may be views of `data`. A `StateError` says what is wrong with it."""
    return batch_of(payload_of(FrameKind.CHUNK, data))


def stream_of(chunk: pa.RecordBatch, compression: str | None = None) -> pa.Buffer:
    """A chunk as an IPC stream."""
    if chunk.num_columns:  # without columns, only the chunk itself knows how many rows it has
        settled = pa.RecordBatch.from_arrays([_settled(column) for column in chunk.columns], schema=chunk.schema)
        chunk = narrowed(settled)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(chunk)
    return sink.getvalue()


def batch_of(payload: memoryview) -> pa.RecordBatch:
    """The chunk that `stream_of` wrote."""
    try:
        with pa.ipc.open_stream(pa.py_buffer(payload)) as reader:
            return widened(reader.read_next_batch())
    except (pa.ArrowException, OSError, StopIteration) as problem:
        raise StateError(
            f"This chunk is whole, but Arrow {pa.__version__} cannot read it: {problem}. "
            "Use the Arrow that wrote it, or start without it."
        ) from problem


def _settled(array: pa.Array[Any]) -> pa.Array[Any]:
    """The same values without what cannot be seen: bytes under nulls, bits after the end, what a slice left out."""
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(
            _settled(array.indices), _settled(array.dictionary), ordered=kind.ordered, safe=False
        )
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, _settled(array.storage))
    if kind in _VIEWS:
        # Arrow takes no views yet; and a view remembers the buffers it once looked into
        return _settled(array.cast(_VIEWS[kind])).cast(kind)
    if len(array) and not (array.null_count or pa.types.is_boolean(kind) or pa.types.is_nested(kind)):
        return array
    if pa.types.is_union(kind) or pa.types.is_run_end_encoded(kind):
        return array
    fresh = array.take(np.arange(len(array)))
    if isinstance(fresh, pa.StructArray):
        # flattening lays the nulls of the struct over its fields
        return _rebuilt(fresh, 1, [_settled(child) for child in fresh.flatten()])
    if isinstance(fresh, (pa.ListArray, pa.LargeListArray)) and not pa.types.is_map(kind):
        return _rebuilt(fresh, 2, [_settled(fresh.values)])
    return fresh


def _rebuilt(array: pa.Array[Any], own: int, children: list[pa.Array[Any]]) -> pa.Array[Any]:
    return pa.Array.from_buffers(
        array.type, len(array), array.buffers()[:own], array.null_count, array.offset, children=children
    )
