"""The input of an aggregate: nothing, its column, or a column of structs made of several."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fanlight.kernels.plain_type import plain_type


def input_type(columns: Sequence[str], schema: pa.Schema) -> pa.DataType | None:
    """The type of the input of an aggregate on these columns, after decoding."""
    fields = [pa.field(name, plain_type(schema.field(name).type)) for name in columns]
    return fields[0].type if len(fields) == 1 else pa.struct(fields) if fields else None


def input_values(columns: Sequence[str], arrays: Sequence[pa.Array]) -> pa.Array | None:
    """The decoded input of an aggregate on these columns."""
    if len(columns) < 2:
        return arrays[0] if columns else None
    fields = [pa.field(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    return pa.StructArray.from_arrays(list(arrays), fields=fields)
