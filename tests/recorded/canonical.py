"""Tables as bytes that say all they hold and nothing else: names, types, nulls, the bits of every value, the order.

Chunks, slices, offsets, padding and what lies under a null do not count: whatever holds the same gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def table_bytes(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    """Tables one after the other, as one where they have the same columns."""
    for described, group in groupby(tables, key=lambda table: described_schema(table.schema)):
        same = list(group)
        yield described.encode()
        whole = pa.concat_tables(same).combine_chunks()
        yield b"%d rows" % len(whole)
        for column in whole.columns:
            yield from _column(column)


def described_schema(schema: pa.Schema) -> str:
    """A schema as text, field by field."""
    return plain_json([_described(field) for field in schema])


def plain_json(value: Any) -> str:
    """JSON on one line, its objects in the order they have."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


RENAMED = {"number": "index"}
"""Fields of `pane` that are called otherwise since: they are recorded under the names that they had."""


def _as_it_was(field: pa.Field) -> pa.Field:
    """A field with the name that it had; only of a `pane` others than its own have changed."""
    if field.name != "pane" or not pa.types.is_struct(field.type):
        return field
    return field.with_type(pa.struct([one.with_name(RENAMED.get(one.name, one.name)) for one in field.type]))


def _described(field: pa.Field) -> list[Any]:
    field = _as_it_was(field)
    metadata = sorted((key.hex(), value.hex()) for key, value in (field.metadata or {}).items())
    nested = [_described(field.type.field(place)) for place in range(field.type.num_fields)]
    return [field.name, str(field.type), field.nullable, metadata, nested]


def _column(column: pa.ChunkedArray) -> Iterator[bytes]:
    if column.num_chunks:
        for chunk in pa.chunked_array([column.combine_chunks()]).chunks:
            yield from _array(chunk)


def _array(array: pa.Array) -> Iterator[bytes]:
    """Which values there are, then the values."""
    kind = array.type
    yield np.packbits(_valid(array)).tobytes()
    if isinstance(kind, pa.ExtensionType):
        yield from _array(array.storage)
    elif pa.types.is_dictionary(kind):
        yield from _array(array.dictionary_decode())
    elif pa.types.is_struct(kind):
        for child in array.flatten():  # a child is null where its parent is
            yield from _array(child)
    elif pa.types.is_nested(kind):
        yield _lengths(pc.list_value_length(array))
        yield from _array(array.flatten())
    elif _is_text(kind):
        array = array.cast(pa.large_binary())
        yield _lengths(pc.binary_length(array))
        yield b"".join(value for value in array.to_pylist() if value is not None)
    elif not pa.types.is_null(kind):
        yield _fixed(array.cast(pa.uint8()) if pa.types.is_boolean(kind) else array)


def _is_text(kind: pa.DataType) -> bool:
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(texts or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _valid(array: pa.Array) -> Any:
    return array.is_valid().to_numpy(zero_copy_only=False)


def _lengths(lengths: pa.Array) -> bytes:
    data: bytes = lengths.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).tobytes()
    return data


def _fixed(array: pa.Array) -> bytes:
    """The bits of values that are all equally wide; those under a null are zero."""
    width = array.type.bit_width // 8
    if not len(array):
        return b""
    bits = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * width :][: len(array) * width]
    bits = bits.reshape(len(array), width).copy()
    bits[~_valid(array)] = 0
    data: bytes = bits.tobytes()
    return data
