"""Deduplication bound to its columns: the operator that keeps the first of each id, or the last."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from fanlight.kernels.grouping.groups import check_key
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.operator import BoundSpec
from fanlight.operators.sort.gather import require_movable
from fanlight.operators.unique.first import UniqueFirst
from fanlight.operators.unique.last import UniqueLast
from fanlight.operators.unique.plan import UniquePlan


def bind_unique(spec: UniqueSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """Deduplication bound to its columns; the output has the columns of the input."""
    for name in spec.columns:
        require_column(schema, name)
    plan = UniquePlan.of(spec, schema)
    for name in spec.keys:
        check_key(name, schema.field(name).type)
    if spec.keep is Keep.FIRST:
        return BoundSpec(schema, schema, partial(UniqueFirst, plan), times=TimeReader.of(spec))
    for field in schema:
        require_movable(field.name, field.type)
    return BoundSpec(schema, schema, partial(UniqueLast, plan), times=TimeReader.of(spec))
