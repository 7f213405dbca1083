"""Reading an operator's windows and messages: the seeds' getWindows and getMessages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError, InputError
from fanlight.model.timestamp import EARLIEST, LATEST, Timestamp
from fanlight.operators.accounting import moments
from fanlight.operators.firing import window_column
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator

_PANE = pa.struct([pa.field("records", pa.int64()), pa.field("status", pa.string())])
"""How many records a pane holds, and whether its window is open, closed or expired."""


def windows_table(shard: ShardOperator, start: Timestamp, end: Timestamp) -> pa.Table:
    """The panes of the windows that overlap `[start, end)`: keys, window, values, and how many records are in them."""
    plan = shard.plan
    values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
    schema = pa.schema([*plan.key_fields, plan.result.field("window"), *values, pa.field("pane", _PANE)])
    batches = []
    for status, content in shard.content():
        starts, ends = plan.slicing.bounds(content.windows)
        keep = pa.array((starts < end) & (ends > start))
        batch = pa.record_batch(
            [
                *content.keys,
                window_column(plan, content.windows),
                *content.values,
                pa.StructArray.from_arrays(
                    [pa.array(content.rows), pa.repeat(status, len(content.windows))], fields=list(_PANE)
                ),
            ],
            schema=schema,
        )
        batches.append(batch.filter(keep))
    return pa.Table.from_batches(batches, schema=schema)


def messages_table(shard: ShardOperator, start: Timestamp, end: Timestamp, key: Any) -> pa.Table:
    """The stored messages with `start <= time < end`: `time`, then the columns that are kept."""
    plan = shard.plan
    messages = shard.records(max(start, EARLIEST), min(end, LATEST))
    if messages is None:
        raise EngineError(
            "messages: this pipeline keeps no messages, because none of its aggregates needs them. "
            "Ask for them with retention=retention(messages=True)."
        )
    times = messages.column("time").to_numpy()
    keep = pa.array((times >= start) & (times < end))
    for name, value in _wanted(plan, key).items():
        column = messages.column(f"v.{name}")
        same = pc.is_null(column) if value is None else pc.equal(column, _scalar(name, value, column.type))
        keep = pc.and_(keep, pc.fill_null(same, False))
    kept = messages.filter(keep)
    order = pa.array(np.lexsort((kept.column("arrival").to_numpy(), kept.column("time").to_numpy())))
    kept = kept.take(order)
    columns = [kept.column(f"v.{name}") for name in plan.message_columns if name != plan.spec.time]
    names = [name for name in plan.message_columns if name != plan.spec.time]
    return pa.table([moments(kept.column("time").to_numpy()), *columns], names=[plan.spec.time, *names])


def _scalar(name: str, value: Any, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise InputError(
            f"messages: {value!r} is no value of the key {name!r}, which is {kind}: {problem}"
        ) from problem


def _wanted(plan: Plan, key: Any) -> dict[str, Any]:
    """The key columns and the values asked for; nothing if no key is asked for."""
    if key is None:
        return {}
    values = key if isinstance(key, tuple) else (key,)
    if len(values) != len(plan.spec.keys):
        raise InputError(
            f"messages: `key` ({key!r}) has {len(values)} values, and the pipeline is keyed by "
            f"{', '.join(plan.spec.keys) or 'nothing'}. Give one value for each, as a tuple."
        )
    return dict(zip(plan.spec.keys, values, strict=True))
