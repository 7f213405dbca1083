"""The windows of a join by frames, seen from outside: what each holds, and its messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError, InputError
from fanlight.kernels.grouping.groups import Bools, encode_in_order
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, TimestampLike, timestamp
from fanlight.operators.accounting import MOMENT, moments
from fanlight.operators.ingest.columns import plain
from fanlight.operators.join.frames.operator import FramesJoin
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.join.side_log import SideRows
from fanlight.operators.window.offsets import OFFSETS

_WINDOW = [pa.field("start", MOMENT), pa.field("end", MOMENT)]


def frame_windows(
    operator: FramesJoin, plan: JoinPlan, side: str, start: TimestampLike | None, end: TimestampLike | None, key: Any
) -> pa.Table:
    """The windows of a side that overlap `[start, end)`: of each key, or the one of the side.

    A window is from the least time that it holds to the greatest; its keys, how many rows it has, and where offsets are
    kept the least and the greatest of them.
    """
    spec, own, rows = _rows(operator, plan, side, key)
    names = () if spec.is_of_stream else _side(spec, side).keys
    keys = encode_in_order([plain(rows.columns[own.get_field_index(name)]) for name in names], len(rows))
    groups = keys.codes.astype(np.int64, copy=False)
    present = np.unique(groups)
    low, high = np.full(keys.count, END_OF_TIME), np.full(keys.count, START_OF_TIME)
    np.minimum.at(low, groups, rows.times)
    np.maximum.at(high, groups, rows.times)
    pane = [pa.array(np.bincount(groups, minlength=keys.count)[present])]
    fields = [pa.field("records", pa.int64())]
    offsets = _offsets(spec, own, rows)
    if offsets is not None:
        found = (
            pa.table({"group": groups, "offset": offsets})
            .group_by("group")
            .aggregate([("offset", "min"), ("offset", "max")])
        )
        found = found.sort_by("group")
        pane += [found["offset_min"].combine_chunks(), found["offset_max"].combine_chunks()]
        fields += OFFSETS
    bounds = [moments(low[present]), moments(high[present] + 1)]
    inside = (low[present] < _moment(end, END_OF_TIME)) & (high[present] >= _moment(start, START_OF_TIME))
    columns = [
        *keys.take(present),
        pa.StructArray.from_arrays(bounds, fields=_WINDOW),
        pa.StructArray.from_arrays(pane, fields=fields),
    ]
    return pa.table(columns, names=[*names, "window", "pane"]).filter(pa.array(inside))


def frame_messages(
    operator: FramesJoin,
    plan: JoinPlan,
    side: str,
    start: TimestampLike | None,
    end: TimestampLike | None,
    key: Any,
    start_offset: int | None,
    end_offset: int | None,
) -> pa.Table:
    """The rows that the windows of a side hold with `start <= time < end`, and offsets alike; by time, as they came."""
    spec, own, rows = _rows(operator, plan, side, key)
    fine: Bools = (rows.times >= _moment(start, START_OF_TIME)) & (rows.times < _moment(end, END_OF_TIME))
    if start_offset is not None or end_offset is not None:
        offsets = _offsets(spec, own, rows)
        if offsets is None:
            raise EngineError(
                "messages: this join keeps no offsets with its rows. Name their column, as in "
                "retention('1 h', messages=True, offsets='offset')."
            )
        for bound, holds in ((start_offset, pc.greater_equal), (end_offset, pc.less)):
            if bound is not None:
                fine &= holds(offsets, bound).fill_null(False).to_numpy(zero_copy_only=False)
    kept = rows.where(fine)
    return pa.Table.from_arrays(kept.columns, schema=own)


def _rows(operator: FramesJoin, plan: JoinPlan, side: str, key: Any) -> tuple[FramesJoinSpec, pa.Schema, SideRows]:
    """The rows that the windows of a side hold: of all keys, or of one or several."""
    spec = plan.spec
    assert isinstance(spec, FramesJoinSpec)
    one = _side(spec, side)
    own = plan.left if one is spec.left else plan.right
    if key is None:
        return spec, own, operator.rows_in_window(side)
    wanted = [given if isinstance(given, tuple) else (given,) for given in (key if isinstance(key, list) else [key])]
    for values in wanted:
        if len(values) != len(one.keys) or not one.keys:
            raise InputError(
                f"`key` ({values!r}) has {len(values)} values, and {side!r} is keyed by "
                f"{', '.join(one.keys) or 'nothing'}. Give one value for each, as a tuple."
            )
    kinds = [plan.schema.field(name).type for name in spec.keys]
    asked = [pa.array([values[place] for values in wanted], kind) for place, kind in enumerate(kinds)]
    rows = operator.rows_in_window(side, asked)
    if not len(rows):
        return spec, own, rows
    fine = np.zeros(len(rows), np.bool_)
    columns = plan.keys_of(rows, left=one is spec.left)
    for place in range(len(wanted)):
        same = np.ones(len(rows), np.bool_)
        for column, values in zip(columns, asked, strict=True):
            same &= pc.equal(column, values[place]).fill_null(False).to_numpy(zero_copy_only=False)
        fine |= same
    return spec, own, rows.where(fine)


def _side(spec: FramesJoinSpec, name: str) -> Side:
    for side in (spec.left, spec.right):
        if side.name == name:
            return side
    raise InputError(f"windows: {name!r} is no side of this join. Use one of {spec.left.name!r}, {spec.right.name!r}.")


def _offsets(spec: FramesJoinSpec, own: pa.Schema, rows: SideRows) -> pa.Array | None:
    if spec.offsets is None or spec.offsets not in own.names:
        return None
    return plain(rows.columns[own.get_field_index(spec.offsets)]).cast(pa.int64())


def _moment(given: TimestampLike | None, default: int) -> int:
    return default if given is None else timestamp(given)
