"""One left row beside one right row: what keeps them from being a pair, whenever they come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.intakes import sided
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.sides import TIME, JoinType, Side
from fanlight.model.join.why import JoinVerdict, Why
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.ingest.prepare import common_schema
from fanlight.operators.ingest.siding import Siding
from fanlight.operators.join.plan import JoinPlan, RowPairs
from fanlight.operators.join.side_log import SideRows

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A left row and a right row with their times; `obstacle` is what keeps them apart, None if they match."""

    left: Timestamp
    right: Timestamp
    obstacle: Why | None


def checked_pair(spec: IntervalJoinSpec, left: Row, right: Row) -> CheckedPair:
    """Look at the keys of two rows, at how far apart they are, and at the condition, in this order."""
    lefts, rights = _sided(spec, spec.left, left), _sided(spec, spec.right, right)
    times = [_time(side, batch) for side, batch in ((spec.left, lefts), (spec.right, rights))]
    obstacle = _keys(spec, left, right) or _bounds(spec, times[1] - times[0]) or _condition(spec, lefts, rights)
    return CheckedPair(times[0], times[1], obstacle)


def _keys(spec: IntervalJoinSpec, left: Row, right: Row) -> Why | None:
    for own, other in zip(spec.left.keys, spec.right.keys, strict=True):
        if not _same(left[own], right[other]):
            names = f"`{own}` of {spec.left.name} is {left[own]!r}, `{other}` of {spec.right.name} is {right[other]!r}"
            null = ", and null equals nothing" if left[own] is None or right[other] is None else ""
            return Why(JoinVerdict.OTHER_KEY, f"{names}{null}")
    return None


def _bounds(spec: IntervalJoinSpec, apart: int) -> Why | None:
    match = spec.match
    by = match.least - apart if apart < match.least else apart - match.most
    if by <= 0:
        return None
    order = f"{Duration(abs(apart))} {'before' if apart < 0 else 'after'}" if apart else "at the time of"
    what = "early" if apart < match.least else "late"
    return Why(
        JoinVerdict.OUTSIDE,
        f"{spec.right.name} is {order} {spec.left.name}, which is {Duration(by)} too {what}: {match}",
    )


def _condition(spec: IntervalJoinSpec, lefts: pa.RecordBatch, rights: pa.RecordBatch) -> Why | None:
    if spec.where is None:
        return None
    schema = common_schema({spec.right.name: rights.schema, spec.left.name: lefts.schema})
    left, right = (replace(side, changes=None) for side in (spec.left, spec.right))
    # which rows leave, and when, does not matter to a condition
    plain = replace(spec, left=left, right=right, how=JoinType.INNER, mode=EmissionMode.EAGER, stamp="left")
    plan = JoinPlan.bind(plain, schema)
    one, place = np.zeros(1, np.int64), np.zeros(1, np.int64)
    sides = [
        SideRows(one, one, one, batch.column(side.name).flatten())
        for side, batch in ((spec.left, lefts), (spec.right, rights))
    ]
    if plan.meets(RowPairs(sides[0], sides[1], place, place)).all():
        return None
    return Why(JoinVerdict.CONDITION, f"of these rows it is not true: {spec.where.told}")


def _sided(spec: IntervalJoinSpec, side: Side, row: Row) -> pa.RecordBatch:
    """A row as a record of its side."""
    for name in (side.time, *side.keys):
        if name not in row:
            raise InputError(
                f"why: the row of {side.name!r} has no `{name}`, which says whether it joins. Give the whole row, as "
                "it stands in the stream."
            )
    own = {name: value for name, value in row.items() if side.changes is None or name != side.changes.op}
    names = (spec.right.name, spec.left.name)
    siding = Siding(sided(replace(side, changes=None), names, says_op=False))
    return siding.run(pa.RecordBatch.from_pylist([own]))[0]


def _time(side: Side, batch: pa.RecordBatch) -> Timestamp:
    time: Timestamp | None = batch.column(TIME)[0].as_py()
    if time is None:
        raise InputError(f"why: the row of {side.name!r} has no time in `{side.time}`, so it can never join.")
    return time


def _same(one: Any, other: Any) -> bool:
    """Whether keys are equal: null equals nothing, NaN itself."""
    if one is None or other is None:
        return False
    both = isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other)
    return both or bool(one == other)
