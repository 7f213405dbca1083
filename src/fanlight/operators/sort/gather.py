"""Reorder the rows of several batches, where one batch cannot hold them all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Ints


def joined(chunks: list[pa.RecordBatch], schema: pa.Schema) -> list[pa.RecordBatch]:
    """Chunks joined into one batch; into several if a column has more than 2 GB of text.

    A column may have had no value, and so no type, when a chunk was written: it gets the type of `schema`.
    """
    chunks = [_typed(chunk, schema) for chunk in chunks]
    if len(chunks) == 1:
        return chunks
    batches: list[pa.RecordBatch] = pa.Table.from_batches(chunks, schema=schema).combine_chunks().to_batches()
    return batches or [pa.RecordBatch.from_pylist([], schema=schema)]


def gather(batches: list[pa.RecordBatch], order: Ints) -> pa.RecordBatch:
    """The rows at `order` as one batch; places count through all batches.

    >>> both = [pa.record_batch({"n": [10, 11]}), pa.record_batch({"n": [12]})]
    >>> gather(both, np.array([2, 0])).to_pydict()
    {'n': [12, 10]}
    """
    if len(batches) == 1:
        return batches[0].take(pa.array(order))
    ends = np.cumsum([len(batch) for batch in batches])
    owners = np.searchsorted(ends, order, side="right")
    taken, places = [], []
    for number, batch in enumerate(batches):
        own = np.flatnonzero(owners == number)
        taken.append(batch.take(pa.array(order[own] - (ends[number] - len(batch)))))
        places.append(own)
    back = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_batches(taken).take(pa.array(back))


def require_movable(name: str, kind: pa.DataType) -> None:
    """Refuse a column whose values Arrow cannot put in another order: views inside of lists, structs and maps."""
    inner = [kind.field(place).type for place in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    while inner:
        part = inner.pop()
        if pa.types.is_string_view(part) or pa.types.is_binary_view(part):
            raise InputError(
                f"sort: column {name!r} is {kind}, and Arrow cannot put views inside of other values in order. "
                f"Cast it, with {'string' if pa.types.is_string_view(part) else 'binary'} in the place of {part}."
            )
        inner += [part.field(place).type for place in range(part.num_fields)] if pa.types.is_nested(part) else []


def _typed(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if chunk.schema.equals(schema):
        return chunk
    pairs = zip(chunk.columns, schema, strict=True)
    columns = [pa.nulls(len(chunk), field.type) if pa.types.is_null(column.type) else column for column, field in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
