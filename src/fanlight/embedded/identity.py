"""Whose a state is: the declaration and the columns that stand beside it."""

from __future__ import annotations

import json

import pyarrow as pa

from fanlight.model.document import to_document
from fanlight.model.spec import WindowSpec
from fanlight.operators.fingerprint import declared_otherwise, refuse
from fanlight.state.store import Address, ChunkStore

_SCHEMA, _PIPELINE = Address("index", 0, 1), Address("index", 0, 2)


def known_schema(store: ChunkStore) -> pa.Schema | None:
    """The columns that the state in `store` was written for; None if there is none."""
    return store.get(_SCHEMA).schema if _SCHEMA in store.list("index") else None


def keep_schema(store: ChunkStore, schema: pa.Schema) -> None:
    """Write the columns down with the state."""
    store.put(_SCHEMA, pa.RecordBatch.from_pylist([], schema=schema))


def identify(store: ChunkStore, spec: WindowSpec, schema: pa.Schema) -> None:
    """Write down whose the state in `store` is; that of another pipeline is refused before it is changed."""
    declared = to_document(spec)
    if _PIPELINE in store.list("index"):
        stored = json.loads(store.get(_PIPELINE).column("spec")[0].as_py())
        refuse(declared_otherwise(stored, declared), "This state", "Or start without it.")
        return
    text = json.dumps(declared)  # with its fields as they come, because words follow their order
    store.put(_PIPELINE, pa.record_batch([pa.array([text])], names=["spec"]))
    keep_schema(store, schema)
