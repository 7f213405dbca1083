"""Chunks as bytes: an Arrow IPC stream of narrowed columns, in a frame that has its kind, its version and a checksum.

    | magic | version | kind | length | checksum | payload … |
      4       2         2      8        8          length bytes

Numbers are little-endian. Nothing is pickled. The same content gives the same bytes, however its columns were made.
"""

from __future__ import annotations

import json
import struct
import zlib
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fanlight.errors import StateError

_MAGIC = b"FANL"
_HEADER = struct.Struct("<4sHHQQ")
_RESTORE = "Restore it from a copy that is whole, or start without it."
_VIEWS: dict[pa.DataType, pa.DataType] = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
}

_WIDE, _BASES = b"fanlight.wide", b"fanlight.bases"
_FEW = 256
"""Chunks with fewer rows than this are not narrowed: the description would cost more."""
_WIDTHS = ((1 << 8, pa.uint8()), (1 << 16, pa.uint16()), (1 << 32, pa.uint32()))

Bases = Any
"""Of a column: its base, a list of those of a struct's fields, or None if it is as it was.

What is always as far from the column before it has its distance, under `_APART`.
"""
_APART = "apart"


class FrameKind(IntEnum):
    """The kind of a frame's payload. Each kind has its own version."""

    CHUNK = 1
    SNAPSHOT = 2

    @property
    def version(self) -> int:
        """The version that this Fanlight writes and reads."""
        return {FrameKind.CHUNK: 3, FrameKind.SNAPSHOT: 4}[self]

    def __str__(self) -> str:
        return self.name.lower()


def framed(kind: FrameKind, parts: list[Any]) -> bytes:
    """Put these parts, one after the other, in a frame."""
    length, checksum = 0, 0
    for part in parts:
        length += len(part)
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEADER.pack(_MAGIC, kind.version, kind, length, checksum), *parts])


def payload_of(kind: FrameKind, data: bytes) -> memoryview:
    """The payload of a frame of this kind.

    It is checked from the outside in, so that the error names the outermost fault.
    """
    if not data.startswith(_MAGIC[: len(data)]) or not data:
        raise StateError(
            f"These {len(data)} bytes are not a {kind} of Fanlight: they begin with {bytes(data[:4])!r}, not "
            f"{_MAGIC!r}. Check where they were read from."
        )
    if len(data) < _HEADER.size:
        raise StateError(f"This {kind} is truncated: {len(data)} bytes are less than its header. {_RESTORE}")
    _, version, found, length, checksum = _HEADER.unpack_from(data)
    if found != kind:
        other = str(FrameKind(found)) if found in iter(FrameKind) else f"thing of unknown kind {found}"
        raise StateError(f"This is a {other} of Fanlight, not a {kind}. Check where it was read from.")
    if version != kind.version:
        raise StateError(
            f"This {kind} has format version {version}; this Fanlight reads version {kind.version}. "
            "Use the Fanlight that wrote it, or start without it."
        )
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


def encode(chunk: pa.RecordBatch, compression: str | None = None) -> bytes:
    """The bytes of a chunk; `compression` ('lz4', 'zstd') compresses its columns.

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
    """The same values without invisible data: bytes under nulls, bits after the end, values outside a slice."""
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


def narrowed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, with whole numbers in the fewest bytes; `widened` gives them back.

        1767225600000000, 1767225600000250, 1767225600000070    eight bytes each
                       0,              250,               70    one byte each, above a base of 1767225600000000

    The times of one chunk are close together and keys are small, so half of the bytes would be zeros. A column that has
    the same number in every row takes no bytes at all. Neither does a column at a constant distance from the column
    before it, as the ends of windows are from their starts.

    >>> few = narrowed(pa.record_batch({"n": range(1_000_000, 1_000_256)}))
    >>> few.column("n").type, len(widened(few).column("n")), widened(few).column("n")[1].as_py()
    (DataType(uint8), 256, 1000001)
    """
    if len(batch) < _FEW:
        return batch
    pairs = _narrow_each(batch.columns)
    if all(bases is None for _, bases in pairs):
        return batch
    fields = [field.with_type(column.type) for field, (column, _) in zip(batch.schema, pairs, strict=True)]
    metadata = {
        **(batch.schema.metadata or {}),
        _WIDE: batch.schema.remove_metadata().serialize().to_pybytes(),
        _BASES: json.dumps([bases for _, bases in pairs]).encode(),
    }
    return pa.record_batch([column for column, _ in pairs], schema=pa.schema(_nullable(fields), metadata))


def widened(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch before `narrowed`; any other batch is returned unchanged."""
    metadata = dict(batch.schema.metadata or {})
    wide = metadata.pop(_WIDE, None)
    if wide is None:
        return batch
    schema = pa.ipc.read_schema(pa.py_buffer(wide)).with_metadata(None)
    bases = json.loads(metadata.pop(_BASES))
    columns = _widen_each(batch.columns, bases, list(schema))
    return pa.record_batch(columns, schema=schema.with_metadata(metadata or None))


def _narrow_each(arrays: list[pa.Array[Any]]) -> list[tuple[pa.Array[Any], Bases]]:
    pairs = []
    before: NDArray[np.int64] | None = None
    for array in arrays:
        values = array.view(pa.int64()).to_numpy() if _is_whole(array.type) and not array.null_count else None
        distance = _distance(before, values)
        pairs.append(_narrow(array) if distance is None else (pa.nulls(len(array)), {_APART: distance}))
        before = values
    return pairs


def _distance(before: NDArray[np.int64] | None, values: NDArray[np.int64] | None) -> int | None:
    """The distance of values from those of the column before, modulo 2**64; None if it is not constant."""
    if before is None or values is None:
        return None
    first, last = values[[0, -1]] - before[[0, -1]]
    if first != last or not (values - before == first).all():
        return None
    return int(first)


def _widen_each(arrays: list[pa.Array[Any]], bases: list[Bases], fields: list[pa.Field[Any]]) -> list[pa.Array[Any]]:
    wide: list[pa.Array[Any]] = []
    for array, base, field in zip(arrays, bases, fields, strict=True):
        if isinstance(base, dict):
            before = wide[-1].view(pa.int64()).to_numpy()
            wide.append(pa.array(before + np.int64(base[_APART])).view(field.type))
        else:
            wide.append(_widen(array, base, field.type))
    return wide


def _narrow(array: pa.Array[Any]) -> tuple[pa.Array[Any], Bases]:
    kind = array.type
    if isinstance(array, pa.StructArray) and not array.null_count and kind.num_fields:
        pairs = _narrow_each(array.flatten())
        if all(bases is None for _, bases in pairs):
            return array, None
        fields = [kind.field(place).with_type(child.type) for place, (child, _) in enumerate(pairs)]
        made = pa.StructArray.from_arrays([child for child, _ in pairs], fields=_nullable(fields))
        return made, [bases for _, bases in pairs]
    if not _is_whole(kind) or array.null_count == len(array):
        return array, None
    numbers = array.view(pa.int64())
    if numbers.null_count:
        least, most = (pc.min_max(numbers)[side].as_py() for side in ("min", "max"))
    else:
        values = numbers.to_numpy()
        least, most = int(values.min()), int(values.max())
    if least == most and not numbers.null_count:
        return pa.nulls(len(array)), least
    for limit, narrow in _WIDTHS:
        if most - least < limit:
            if numbers.null_count:
                return pc.subtract(numbers, pa.scalar(least)).cast(narrow, safe=False), least
            return pa.array(_low(values, least, narrow.to_pandas_dtype())), least
    return array, None


def _low(values: NDArray[np.int64], base: int, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """Values minus `base`. Only the lowest bytes are needed, so only these are subtracted."""
    little = values.astype("<i8", copy=False).view(np.dtype(kind).newbyteorder("<"))
    lowest = little[:: 8 // np.dtype(kind).itemsize]
    return np.subtract(lowest, kind(base & (2 ** (8 * np.dtype(kind).itemsize) - 1))).astype(kind, copy=False)


def _widen(array: pa.Array[Any], bases: Bases, kind: pa.DataType) -> pa.Array[Any]:
    if bases is None:
        return array
    if isinstance(bases, list):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.StructArray.from_arrays(_widen_each(array.flatten(), bases, fields), fields=fields)
    if pa.types.is_null(array.type):
        return pa.array(np.full(len(array), bases, np.int64)).view(kind)
    if array.null_count:
        return pc.add(array.cast(pa.int64()), pa.scalar(bases, pa.int64())).view(kind)
    return pa.array(np.add(array.to_numpy(), bases, dtype=np.int64)).view(kind)


def _is_whole(kind: pa.DataType) -> bool:
    """Whether values are whole numbers of eight bytes."""
    others = pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind)
    return bool(pa.types.is_int64(kind) or pa.types.is_date64(kind) or others)


def _nullable(fields: list[pa.Field[Any]]) -> list[pa.Field[Any]]:
    """The fields of a narrowed chunk: a column without bytes is a column of nulls."""
    return [field.with_nullable(True) for field in fields]
