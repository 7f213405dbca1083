"""Columns, and fields of whole records, that had no type at first: they get one, and what is kept of them does too."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.ingest.conform import with_types
from fanlight.state.store import ChunkStore

SPACES = ("partials", "panes", "records", "kept", "atoms", "retained")
"""Where windows keep records, and what they have found among them."""


def with_later_types(spec: StreamSpec, known: pa.Schema, came: pa.Schema, store: ChunkStore) -> pa.Schema:
    """The known columns with the types that came, where they had none; state of whole records is written again."""
    typed = with_types(known, came, spec.columns, inside=spec.goes_by_input, whole=spec.whole_records)
    give_types(store, known, typed, spec.whole_records)
    return typed


def give_types(store: ChunkStore, before: pa.Schema, after: pa.Schema, columns: Sequence[str]) -> None:
    """Write all state again in which the records of these columns are as in `before`: as they are in `after`.

    It happens once for a field: with its first value, if only nulls had come before.

    >>> from fanlight.state.memory import MemoryStore
    >>> from fanlight.state.store import Address
    >>> store, place = MemoryStore(), Address("records", 0, 0)
    >>> store.put(place, pa.record_batch({"row": [{"x": None}]}))
    >>> known, now = (pa.schema({"row": pa.struct({"x": kind})}) for kind in (pa.null(), pa.int64()))
    >>> give_types(store, known, now, ["row"])
    >>> store.get(place).schema.field("row").type
    StructType(struct<x: int64>)
    """
    changed = [(before.field(name).type, after.field(name).type) for name in columns]
    changed = [(old, new) for old, new in changed if old != new]
    for address in [address for space in SPACES for address in store.list(space)] if changed else []:
        chunk = store.get(address)
        schema = chunk.schema
        for old, new in changed:
            schema = pa.schema([field.with_type(_typed(field.type, old, new)) for field in schema], schema.metadata)
        if schema != chunk.schema:
            store.put(address, chunk.cast(schema))


def _typed(kind: pa.DataType, old: pa.DataType, new: pa.DataType) -> pa.DataType:
    """The type, in which `new` stands in the place of `old`, also inside of lists and structs."""
    if kind == old:
        return new
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_typed(kind.value_type, old, new)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_typed(field.type, old, new)) for field in kind])
    return kind
