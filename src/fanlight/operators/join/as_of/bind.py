"""An as-of join bound to the columns of its two inputs."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from fanlight.model.join.as_of import AsOfJoinSpec
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.as_of.operator import AsOfJoin
from fanlight.operators.join.as_of.versions import VersionJoin
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.operator import BoundSpec


def bind_as_of_join(spec: AsOfJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A join bound to the columns of both sides."""
    for name in (spec.left.name, spec.right.name, *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = JoinPlan.bind(spec, schema)
    make = AsOfJoin if spec.right.changes is None else VersionJoin
    return BoundSpec(schema, plan.result, partial(make, plan), times=TimeReader.of(spec))
