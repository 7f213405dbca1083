"""From what leaves one stage to the records of the next, without a word lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from fanlight.operators.stages import next_records
from fanlight.spark.envelope import PASSED, Batches
from fanlight.spark.leaving import FIRING
from fanlight.spark.transit import opened, packed


def carried_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of the next stage's records, and one for what only passes by."""
    return schema.append(pa.field(PASSED, pa.binary()))


def carrying(schema: pa.Schema) -> Callable[[Batches], Batches]:
    """The function that makes firings records of `schema`, and takes dead letters and accounts along."""

    def carried(batches: Batches) -> Batches:
        for batch in batches:
            for place, kind in enumerate(batch.column("kind").to_pylist()):
                yield from _firing(batch, place) if kind == FIRING else _other(batch.slice(place, 1), schema)

    return carried


def _firing(batch: pa.RecordBatch, place: int) -> Iterator[pa.RecordBatch]:
    records = next_records(opened(batch.column("payload")[place].as_buffer()))
    yield records.append_column(PASSED, pa.nulls(len(records), pa.binary()))


def _other(row: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    nothing = [pa.nulls(1, field.type) for field in schema]
    yield pa.record_batch([*nothing, pa.array([packed(row)], pa.binary())], schema=carried_schema(schema))
