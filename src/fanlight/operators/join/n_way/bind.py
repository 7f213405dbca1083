"""An n-way join bound to the columns of its inputs: the operator that joins eagerly, or on close."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.n_way.eager import NWayEager
from fanlight.operators.join.n_way.on_close import NWayOnClose
from fanlight.operators.join.n_way.operator import NWayJoin
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.operator import BoundSpec

_OPERATORS: dict[EmissionMode, type[NWayJoin]] = {
    EmissionMode.EAGER: NWayEager,
    EmissionMode.ON_CLOSE: NWayOnClose,
}


def bind_n_way_join(spec: NWayJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A join bound to the columns of all inputs."""
    for name in (*(side.name for side in spec.sides), *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = NWayPlan.bind(spec, schema)
    return BoundSpec(schema, plan.result, partial(_OPERATORS[spec.mode], plan), times=TimeReader.of(spec))
