"""The identity of a stored state: the declaration and the columns it was written for."""

from __future__ import annotations

import json

import pyarrow as pa

from fanlight.model.spec_json import to_document
from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.fingerprint import declared_otherwise, refuse
from fanlight.state.store import Address, ChunkStore

_SCHEMA, _PIPELINE = Address("index", 0, 1), Address("index", 0, 2)


def known_schema(store: ChunkStore) -> pa.Schema | None:
    """The columns that the state in `store` was written for; None if there is none."""
    return store.get(_SCHEMA).schema if _SCHEMA in store.list("index") else None


def keep_schema(store: ChunkStore, schema: pa.Schema) -> None:
    """Store the columns with the state."""
    store.put(_SCHEMA, pa.RecordBatch.from_pylist([], schema=schema))


def identify(store: ChunkStore, spec: StreamSpec, schema: pa.Schema) -> None:
    """Store the fingerprint with the state; the state of another pipeline is refused before anything changes."""
    declared = to_document(spec)
    if _PIPELINE in store.list("index"):
        stored = json.loads(store.get(_PIPELINE).column("spec")[0].as_py())
        refuse(declared_otherwise(stored, declared), "This state", "Or start without it.")
        return
    text = json.dumps(declared)  # with its fields as they come, because words follow their order
    store.put(_PIPELINE, pa.record_batch([pa.array([text])], names=["spec"]))
    keep_schema(store, schema)
