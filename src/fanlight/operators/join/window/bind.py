"""A join by window bound to the columns of its two inputs: the operator that joins eagerly, or on close."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.window import WINDOW, WindowJoinSpec
from fanlight.model.semantics import Semantics
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.window.counting import COUNTED_FIELD, CountJoin
from fanlight.operators.join.window.counting_eager import CountJoinEager
from fanlight.operators.join.window.eager import WindowJoinEager
from fanlight.operators.join.window.on_close import WindowJoinOnClose
from fanlight.operators.join.window.session import SessionJoin
from fanlight.operators.join.window.windowed_rows import WINDOW_FIELD
from fanlight.operators.operator import BoundSpec, Operator
from fanlight.state.store import ChunkStore


def bind_window_join(spec: WindowJoinSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows say nothing but what came
    """A join by window bound to the columns of both sides."""
    for name in (spec.left.name, spec.right.name, *spec.columns, *spec.keys):
        require_column(schema, name)
    plan = JoinPlan.bind(spec, schema)
    if WINDOW in plan.result.names:
        raise InputError(
            f"join: a joined row has a column {WINDOW!r} of its own, which says its window. Rename that of the side, "
            f"as in select(…, other={WINDOW!r})."
        )
    field = WINDOW_FIELD if spec.match.counting is None else COUNTED_FIELD
    result = pa.schema([field, *plan.result])
    return BoundSpec(schema, result, _operator_of(spec, plan), times=TimeReader.of(spec))


def _operator_of(spec: WindowJoinSpec, plan: JoinPlan) -> Callable[[ChunkStore, Books], Operator]:
    if spec.match.session is not None:
        return partial(SessionJoin, plan, spec.match.session)
    if spec.match.counting is not None:
        counted = CountJoinEager if spec.mode is EmissionMode.EAGER else CountJoin
        return partial(counted, plan, spec.match.counting)
    slicing = slicing_of(spec.match.window, Semantics())
    make = WindowJoinEager if spec.mode is EmissionMode.EAGER else WindowJoinOnClose
    return partial(make, plan, slicing)
