"""`over` bound to its columns: the operator of its mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.spec import OverSpec
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.operator import BoundSpec, Operator
from fanlight.operators.over.eager import EagerOver
from fanlight.operators.over.operator import Over
from fanlight.operators.over.plan import OverPlan
from fanlight.operators.over.retracting import RetractingOver, require_known
from fanlight.state.store import ChunkStore

_OPERATORS: dict[EmissionMode, Callable[[OverPlan, ChunkStore, Books], Operator]] = {
    EmissionMode.ON_CLOSE: Over,
    EmissionMode.EAGER: EagerOver,
    EmissionMode.RETRACTING: RetractingOver,
}


def bind_over(spec: OverSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """`over` bound to its columns; the output has the columns of the input, and the new ones."""
    plan = OverPlan.bind(spec, schema)
    require_known(plan)
    make = partial(_OPERATORS[spec.mode], plan)
    return BoundSpec(schema, plan.result, make, times=TimeReader.of(spec), op=None if spec.fires_once else spec.op)
