"""A join by frames bound to the columns of its two inputs."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from fanlight.model.join.framed import FramesJoinSpec
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.frames.operator import FramesJoin
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.operator import BoundSpec


def bind_frames_join(spec: FramesJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A join bound to the columns of both sides."""
    for name in (spec.left.name, spec.right.name, *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = JoinPlan.bind(spec, schema)
    result = plan.result if spec.function is None else pa.schema(list(spec.function.output_type))
    return BoundSpec(schema, result, partial(FramesJoin, plan), times=TimeReader.of(spec))
