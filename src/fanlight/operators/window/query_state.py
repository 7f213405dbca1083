"""Query the state of shards: their windows and messages.

A query names keys and a range of time. `needed` says which chunks can matter to it, so that a remote store loads no
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError, InputError
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.time.timestamp import (
    EARLIEST,
    END_OF_TIME,
    LATEST,
    START_OF_TIME,
    Timestamp,
    TimestampLike,
    timestamp,
)
from fanlight.operators.accounting import moments
from fanlight.operators.window.firing.rows import window_column
from fanlight.operators.window.messages import Messages, keys_of
from fanlight.operators.window.offsets import offset_column, offset_fields
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.unaligned.messages_by_key import MessagesByKey

_PANE = pa.struct([pa.field("records", pa.int64()), pa.field("status", pa.string())])
"""How many records a pane holds, and whether its window is open, closed or expired."""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class StateQuery:
    """A query for windows or messages: those of `keys` (all keys if None) in `[start, end)`."""

    start: Timestamp = START_OF_TIME
    end: Timestamp = END_OF_TIME
    keys: tuple[tuple[Any, ...], ...] | None = None
    offsets: tuple[int | None, int | None] = (None, None)
    """The offsets of messages: the first one, and the one after the last."""

    @staticmethod
    def of(plan: Plan, start: TimestampLike | None, end: TimestampLike | None, keys: Any = None) -> StateQuery:
        """The query that a user wrote. `keys` is one key or a list of keys; a key of several columns is a tuple."""
        return StateQuery(
            START_OF_TIME if start is None else timestamp(start),
            END_OF_TIME if end is None else timestamp(end),
            None if keys is None else tuple(_key(plan, key) for key in (keys if isinstance(keys, list) else [keys])),
        )

    def by_offset(self, start: Any, end: Any) -> StateQuery:
        """The same, and only messages with `start <= offset < end`."""
        for name, value in (("start_offset", start), ("end_offset", end)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
                raise InputError(f"messages: `{name}` ({value!r}) is no offset. Give a whole number.")
        return replace(self, offsets=(start, end))

    def of_offsets(self, plan: Plan, messages: pa.RecordBatch) -> pa.Array | None:
        """Which messages have one of the offsets; None means all of them."""
        start, end = self.offsets
        if start is None and end is None:
            return None
        require_offsets(plan)
        offsets = offset_column(plan, messages)
        kept = offsets.is_valid()
        if start is not None:
            kept = pc.and_(kept, pc.greater_equal(offsets, start))
        if end is not None:
            kept = pc.and_(kept, pc.less(offsets, end))
        return pc.fill_null(kept, False)

    def windows(self, plan: Plan) -> tuple[int, int]:
        """The first and last window that can overlap the range."""
        slicing = plan.slicing
        first = NO_WINDOW if self.start < EARLIEST else int(slicing.last_ending_by(np.array([self.start]))[0]) + 1
        if self.end > LATEST:
            return first, EVERY_WINDOW
        return first, int(slicing.windows(slicing.slices(np.array([max(self.end, EARLIEST)])))[1][0])

    def of_keys(self, plan: Plan, columns: list[pa.Array]) -> pa.Array | None:
        """Which rows have one of the keys, given the key columns; None means all rows."""
        if self.keys is None:
            return None
        wanted = pa.array(np.zeros(len(columns[0]) if columns else 0, np.bool_))
        for key in self.keys:
            parts = zip(plan.spec.keys, columns, key, strict=True)
            wanted = pc.or_(wanted, _all(_equal(name, column, value) for name, column, value in parts))
        return wanted


class Range(NamedTuple):
    """A range of slices of a space; empty if the last is before the first."""

    space: str
    first: int
    last: int


def needed(plan: Plan, question: StateQuery, *, messages: bool) -> list[Range]:
    """Which chunks can matter to a query for messages or windows; chunks of other spaces always can."""
    if not plan.is_aligned:
        return []  # unaligned panes are not stored by window number, so all are read
    first, last = question.windows(plan)
    low = _LOWEST if first == NO_WINDOW else plan.slicing.members(first)[0]
    high = _HIGHEST if last == EVERY_WINDOW else plan.slicing.members(last)[1]
    by_slice, by_window, nothing = (low, high), (first, last), (1, 0)
    return [
        Range("records", *(by_slice if messages or plan.gathered or plan.spec.offsets else nothing)),
        Range("partials", *(nothing if messages else by_slice)),
        *(Range(space, *(nothing if messages else by_window)) for space in ("panes", "retained")),
    ]


def windows_schema(plan: Plan) -> pa.Schema:
    """The columns of `windows_table`."""
    values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
    return pa.schema([*plan.key_fields, plan.result.field("window"), *values, pa.field("pane", _pane(plan))])


def windows_table(plan: Plan, contents: Iterable[tuple[str, Content]], question: StateQuery) -> pa.Table:
    """The panes of the windows that overlap the range: keys, window, values, and the number of records."""
    schema = windows_schema(plan)
    batches = []
    for status, content in contents:
        starts, ends = content.bounds(plan)
        pane = [pa.array(content.rows), pa.repeat(status, len(content.windows)), *(content.offsets or [])]
        columns = [
            *content.keys,
            window_column(plan, starts, ends),
            *content.values,
            pa.StructArray.from_arrays(pane, fields=list(_pane(plan))),
        ]
        keep = pa.array((starts < question.end) & (ends > question.start))
        wanted = question.of_keys(plan, content.keys)
        batch = pa.record_batch(columns, schema=schema)
        batches.append(batch.filter(keep if wanted is None else pc.and_(keep, wanted)))
    return pa.Table.from_batches(batches, schema=schema)


def messages_schema(plan: Plan) -> pa.Schema:
    """The columns of `messages_table`: the time, then the stored columns."""
    time = plan.result.field("window").type.field("start").type
    kept = [name for name in plan.message_columns if name != plan.spec.time]
    return pa.schema([pa.field(plan.spec.time, time), *(_kept(plan, name) for name in kept)])


def messages_table(plan: Plan, messages_kept: Messages | MessagesByKey | None, question: StateQuery) -> pa.Table:
    """The stored messages with `start <= time < end`, by time and arrival."""
    if messages_kept is None:
        raise no_messages()
    messages = messages_kept.between(max(question.start, EARLIEST), min(question.end, LATEST))
    times = messages.column("time").to_numpy()
    keep = pa.array((times >= question.start) & (times < question.end))
    for wanted in (question.of_keys(plan, keys_of(plan, messages)), question.of_offsets(plan, messages)):
        keep = keep if wanted is None else pc.and_(keep, wanted)
    kept = messages.filter(keep)
    order = pa.array(np.lexsort((kept.column("arrival").to_numpy(), kept.column("time").to_numpy())))
    kept = kept.take(order)
    schema = messages_schema(plan)
    columns = [kept.column(f"v.{name}") for name in schema.names[1:]]
    times = moments(kept.column("time").to_numpy()).cast(schema.types[0])
    return pa.table([times, *columns], schema=schema)


def no_messages() -> EngineError:
    """The error for a query for messages that are not stored."""
    return EngineError(
        "messages: this pipeline keeps no messages, because none of its aggregates needs them. "
        "Ask for them with retention=retention(messages=True)."
    )


def require_offsets(plan: Plan) -> None:
    """Refuse a query by offset of a pipeline that keeps none."""
    if plan.spec.offsets is None:
        raise EngineError(
            "messages: this pipeline keeps no offsets with its messages. "
            "Name their column, as in retention(messages=True, offsets='offset')."
        )


def _pane(plan: Plan) -> pa.StructType:
    return pa.struct([*_PANE, *offset_fields(plan)])


def _kept(plan: Plan, name: str) -> pa.Field:
    return pa.field(name, plain_type(plan.schema.field(name).type))


def _key(plan: Plan, key: Any) -> tuple[Any, ...]:
    values = key if isinstance(key, tuple) else (key,)
    names = plan.spec.keys
    if len(values) != len(names) or not names:
        raise InputError(
            f"`key` ({key!r}) has {len(values)} values, and the pipeline is keyed by {', '.join(names) or 'nothing'}. "
            "Give one value for each, as a tuple."
        )
    for name, value in zip(names, values, strict=True):
        _scalar(name, value, plan.result.field(name).type)
    return values


def _equal(name: str, column: pa.Array, value: Any) -> pa.Array:
    if value is None:
        return pc.is_null(column)
    return pc.fill_null(pc.equal(column, _scalar(name, value, column.type)), False)


def _scalar(name: str, value: Any, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(value, kind)
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise InputError(f"key: {value!r} is no value of the key {name!r}, which is {kind}: {problem}") from problem


def _all(conditions: Iterable[pa.Array]) -> pa.Array:
    first, *rest = conditions
    for condition in rest:
        first = pc.and_(first, condition)
    return first
