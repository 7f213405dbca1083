"""Link two stages: firings become records of the next stage, and all other output passes through."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from fanlight.operators.handover import Handover
from fanlight.spark.output import FIRING
from fanlight.spark.pack import PASSED, Batches
from fanlight.spark.wire import opened, packed


def linked_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of the next stage's records, and one for output that passes through."""
    return schema.append(pa.field(PASSED, pa.binary()))


def linking(handover: Handover, schema: pa.Schema) -> Callable[[Batches], Batches]:
    """The function that turns rows into records of `schema`, and passes dead letters and accounts through."""

    def carried(batches: Batches) -> Batches:
        for batch in batches:
            for place, kind in enumerate(batch.column("kind").to_pylist()):
                if kind == FIRING:
                    records = handover.records(opened(batch.column("payload")[place].as_buffer()))
                    columns = [*records.columns, pa.nulls(len(records), pa.binary())]
                    yield pa.record_batch(columns, schema=linked_schema(schema))
                else:
                    yield _other(batch.slice(place, 1), schema)

    return carried


def _other(row: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    nothing = [pa.nulls(1, field.type) for field in schema]
    return pa.record_batch([*nothing, pa.array([packed(row)], pa.binary())], schema=linked_schema(schema))
