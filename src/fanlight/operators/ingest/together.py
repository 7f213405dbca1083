"""The columns of several inputs, where one says nothing of those of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from fanlight.operators.ingest.bundle import without_views
from fanlight.operators.ingest.inputs import Arrival
from fanlight.operators.ingest.prepare import Gate


def columns_together(gates: Mapping[str, Gate], arrivals: Sequence[Arrival]) -> pa.Schema | None:
    """The columns that the inputs of a step bring together; None if none gives a type to a column of the first.

    An input has no type for a column that only another one knows.
    """
    schemas = [
        gates[arrival.said.source].schema_of(without_views(arrival.came.batch.schema))
        for arrival in arrivals
        if arrival.came is not None and arrival.said.source is not None and arrival.said.source in gates
    ]
    if len(schemas) < 2:
        return None
    first, *others = schemas
    typed = first
    for place, field in enumerate(first):
        kinds = [one.field(field.name).type for one in others if field.name in one.names]
        if pa.types.is_null(field.type):
            known = (kind for kind in kinds if not pa.types.is_null(kind))
            typed = typed.set(place, field.with_type(next(known, field.type)))
    return None if typed.equals(first) else typed
