"""Columns of any type as columns whose values can be compared: what is nested is taken apart.

list        [[1, 2], [2], null]     codes of the values, as bytes, and which lists are null
struct      [{a: 1, b: null}]       its fields, and which structs are null
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import encode
from fanlight.kernels.plain_type import plain_type

_WORD = 8


def comparable(column: pa.Array) -> list[pa.Array]:
    """Columns that are equal in two rows where `column` is, as keys are equal: null to null, NaN to NaN.

    >>> lists = pa.array([[1, 2], [2, 1], [1, 2], None, []])
    >>> encode(comparable(lists.slice(0, 4)), 4).codes.tolist()
    [0, 1, 0, 2]
    """
    kind = plain_type(column.type)
    column = column if column.type == kind else column.cast(kind)
    if isinstance(kind, pa.BaseExtensionType):
        return comparable(column.storage)
    if pa.types.is_struct(kind):
        return [column.is_valid(), *(part for field in column.flatten() for part in comparable(field))]
    if pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])
        column = column.cast(pa.list_(entry))
    elif not pa.types.is_nested(kind):
        return [column.view(pa.binary(16)) if pa.types.is_interval(kind) else column]
    return [column.is_valid(), _codes(column)]


def _codes(lists: pa.Array) -> pa.Array:
    """Each list as bytes: the codes of its values, one after the other."""
    flat = lists.flatten()
    codes = encode(comparable(flat), len(flat)).codes.astype(np.int64)
    sizes = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(sizes)]) * _WORD
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(codes)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(lists), buffers)
