"""Chunks as bytes: a frame that knows its version and notices damage, around an Arrow IPC stream.

    | magic | version | kind | length | checksum | payload … |
      4       2         2      8        8          length bytes

The payload of a chunk is one IPC stream with its whole numbers narrowed (`fanlight.state.narrow`). That of a snapshot
is the length of its directory (8 bytes), the directory as JSON, padded to 8 bytes, and the IPC streams of its chunks,
one after the other. Numbers are little-endian; nothing is pickled. The same content gives the same bytes, however its
columns were made.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import StateError
from fanlight.state.narrow import narrowed, widened
from fanlight.state.store import Address

VERSION = 3

_MAGIC = b"FANL"
_HEADER = struct.Struct("<4sHHQQ")
_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 8
_VIEWS: dict[pa.DataType, pa.DataType] = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}
_RESTORE = "Restore it from a copy that is whole, or start without it."


class _Kind(IntEnum):
    CHUNK = 1
    SNAPSHOT = 2

    def __str__(self) -> str:
        return self.name.lower()


def encode(chunk: pa.RecordBatch, compression: str | None = None) -> bytes:
    """The bytes of a chunk, its columns compressed if Arrow is told how ('lz4', 'zstd').

    >>> decode(encode(pa.record_batch({"n": [1, 2]}))).to_pydict()
    {'n': [1, 2]}
    """
    return _framed(_Kind.CHUNK, [_stream(chunk, compression)])


def decode(data: bytes) -> pa.RecordBatch:
    """The chunk that `encode` wrote; its columns may be views of `data`. A `StateError` says what is wrong with it."""
    return _chunk(_payload(_Kind.CHUNK, data))


def encode_snapshot(chunks: Mapping[Address, pa.RecordBatch], metadata: Mapping[str, Any]) -> bytes:
    """The bytes of many chunks and of what is to be said about them, which JSON must be able to write."""
    addresses = sorted(chunks)
    streams = [_stream(chunks[address]) for address in addresses]
    directory = {
        "chunks": [[*address, stream.size] for address, stream in zip(addresses, streams, strict=True)],
        "metadata": dict(metadata),
    }
    try:
        text = json.dumps(directory, sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError) as problem:
        raise StateError(
            f"snapshot: `metadata` cannot be written as JSON ({problem}). Use text, numbers, lists and dicts only."
        ) from problem
    padding = bytes(-len(text) % _ALIGNMENT)
    return _framed(_Kind.SNAPSHOT, [_LENGTH.pack(len(text)), text, padding, *streams])


def decode_snapshot(data: bytes) -> tuple[dict[Address, pa.RecordBatch], dict[str, Any]]:
    """The chunks by address and the metadata that `encode_snapshot` wrote."""
    payload = _payload(_Kind.SNAPSHOT, data)
    (length,) = _LENGTH.unpack_from(payload)
    place = _LENGTH.size + length
    directory = json.loads(bytes(payload[_LENGTH.size : place]))
    place += -length % _ALIGNMENT
    chunks = {}
    for space, slice_, sequence, size in directory["chunks"]:
        chunks[Address(space, slice_, sequence)] = _chunk(payload[place : place + size])
        place += size
    return chunks, directory["metadata"]


def _framed(kind: _Kind, parts: list[bytes | pa.Buffer]) -> bytes:
    length, checksum = 0, 0
    for part in parts:
        length += len(part)
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEADER.pack(_MAGIC, VERSION, kind, length, checksum), *parts])


def _payload(kind: _Kind, data: bytes) -> memoryview:
    """Check the frame from the outside in, so that the message names the outermost thing that is wrong."""
    if not data.startswith(_MAGIC[: len(data)]) or not data:
        raise StateError(
            f"These {len(data)} bytes are not a {kind} of Fanlight: they begin with {bytes(data[:4])!r}, not "
            f"{_MAGIC!r}. Check where they were read from."
        )
    if len(data) < _HEADER.size:
        raise StateError(f"This {kind} is truncated: {len(data)} bytes are less than its header. {_RESTORE}")
    _, version, found, length, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise StateError(
            f"This {kind} has format version {version}; this Fanlight reads version {VERSION}. "
            "Use the Fanlight that wrote it, or start without it."
        )
    if found != kind:
        other = str(_Kind(found)) if found in iter(_Kind) else f"thing of unknown kind {found}"
        raise StateError(f"This is a {other} of Fanlight, not a {kind}. Check where it was read from.")
    payload = memoryview(data)[_HEADER.size :]
    if len(payload) < length:
        raise StateError(
            f"This {kind} is truncated: {len(payload)} of {length} bytes are left behind its header. {_RESTORE}"
        )
    if len(payload) > length:
        raise StateError(f"This {kind} is damaged: {len(payload) - length} bytes follow its end. {_RESTORE}")
    if zlib.crc32(payload) != checksum:
        raise StateError(f"This {kind} is damaged: its checksum does not fit its {length} bytes. {_RESTORE}")
    return payload


def _stream(chunk: pa.RecordBatch, compression: str | None = None) -> pa.Buffer:
    if chunk.num_columns:  # without columns, only the chunk itself knows how many rows it has
        settled = pa.RecordBatch.from_arrays([_settled(column) for column in chunk.columns], schema=chunk.schema)
        chunk = narrowed(settled)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(chunk)
    return sink.getvalue()


def _chunk(payload: memoryview) -> pa.RecordBatch:
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
