"""Offsets as a column of records, for operators that keep them with their messages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.operators.ingest.bundle import offsets_of
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Offsets


def with_offset_field(schema: pa.Schema, column: str | None) -> pa.Schema:
    """The schema with the column of offsets, if there is to be one."""
    if column is None or column in schema.names:
        return schema
    return schema.append(pa.field(column, pa.int64()))


def with_offsets(came: CheckedBatch, column: str, offset: Offsets, first: int) -> CheckedBatch:
    """The records with their offsets, unless they bring them in this column themselves.

    They are what `add` was told; where it was told none, the records are numbered on from `first`.
    """
    batch = came.batch
    place = batch.schema.get_field_index(column)
    if not len(batch) or (place >= 0 and batch.column(place).null_count < len(batch)):
        return came
    numbers = np.arange(first, first + len(batch)) if offset is None else offsets_of(offset, len(batch))
    field = pa.field(column, pa.int64())
    if place >= 0:
        return CheckedBatch(batch.set_column(place, field, pa.array(numbers)), came.details)
    return CheckedBatch(batch.append_column(field, pa.array(numbers)), came.details)
