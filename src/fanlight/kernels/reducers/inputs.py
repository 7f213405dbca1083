"""What an aggregate is given to work on: nothing, its column, or its columns as one of structs."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fanlight.kernels.reducers.plain import plain_type


def input_type(columns: Sequence[str], schema: pa.Schema) -> pa.DataType | None:
    """The type of what an aggregate on these columns is given; their encodings are undone."""
    fields = [pa.field(name, plain_type(schema.field(name).type)) for name in columns]
    return fields[0].type if len(fields) == 1 else pa.struct(fields) if fields else None


def input_values(columns: Sequence[str], arrays: Sequence[pa.Array]) -> pa.Array | None:
    """What an aggregate on these columns is given, from the column of each, its encoding undone."""
    if len(columns) < 2:
        return arrays[0] if columns else None
    fields = [pa.field(name, array.type) for name, array in zip(columns, arrays, strict=True)]
    return pa.StructArray.from_arrays(list(arrays), fields=fields)
