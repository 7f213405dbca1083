"""Columns of whole numbers in the fewest bytes that hold them, for chunks on their way to somewhere.

    1767225600000000, 1767225600000250, 1767225600000070    eight bytes each
                   0,              250,               70    one byte each, above a base of 1767225600000000

Times of one chunk lie close together and keys are small, so half of what would be moved and kept is zeros. A column
that is one number throughout takes no bytes at all; neither does one that is always as far from the column before it,
as the ends of windows are from their starts.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_WIDE, _BASES = b"fanlight.wide", b"fanlight.bases"
_FEW = 256
"""Fewer rows than this are not worth saying how they were narrowed."""
_WIDTHS = ((1 << 8, pa.uint8()), (1 << 16, pa.uint16()), (1 << 32, pa.uint32()))

Bases = Any
"""Of a column: its base, a list of those of a struct's fields, or None if it is as it was.

What is always as far from the column before it has its distance, under `_APART`.
"""
_APART = "apart"


def narrowed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in fewer bytes; `widened` gives them back.

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
    """What `narrowed` was given; any other batch is itself."""
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
    """How far values are from those before them, modulo 2**64; None if not all are as far."""
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
    """What values exceed `base` by, of which no more than the lowest bytes are needed: those alone are subtracted."""
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
    """Fields as they are moved: a column without bytes is one of nulls."""
    return [field.with_nullable(True) for field in fields]
