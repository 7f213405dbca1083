"""An interval join bound to the columns of its two inputs: the operator that joins eagerly, on close, or again."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.interval.eager import JoinEager
from fanlight.operators.join.interval.on_close import JoinOnClose
from fanlight.operators.join.interval.partners import IntervalJoin
from fanlight.operators.join.interval.retracting import JoinRetracting
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.operator import BoundSpec

_OPERATORS: dict[EmissionMode, type[IntervalJoin]] = {
    EmissionMode.EAGER: JoinEager,
    EmissionMode.ON_CLOSE: JoinOnClose,
    EmissionMode.RETRACTING: JoinRetracting,
}


def bind_interval_join(spec: IntervalJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A join bound to the columns of both sides."""
    for name in (spec.left.name, spec.right.name, *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = JoinPlan.bind(spec, schema)
    make = _OPERATORS[spec.mode]
    result = plan.result if spec.op is None else plan.result_with_op
    return BoundSpec(schema, result, partial(make, plan), times=TimeReader.of(spec), op=spec.op)
