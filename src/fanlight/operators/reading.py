"""Reading what shards hold, windows and messages: the seeds' getWindows and getMessages.

A question names keys and a range of time. `needed` says which chunks can matter to it, so that a store that is read
from afar brings no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import EngineError, InputError
from fanlight.kernels.reducers.plain import plain_type
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.kinds import is_aligned
from fanlight.model.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, Timestamp, TimestampLike, timestamp
from fanlight.operators.accounting import moments
from fanlight.operators.firing import window_column
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator

_PANE = pa.struct([pa.field("records", pa.int64()), pa.field("status", pa.string())])
"""How many records a pane holds, and whether its window is open, closed or expired."""

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Question:
    """Which windows or messages: those of `keys` (of all, if None), in `[start, end)`."""

    start: Timestamp = START_OF_TIME
    end: Timestamp = END_OF_TIME
    keys: tuple[tuple[Any, ...], ...] | None = None

    @staticmethod
    def of(plan: Plan, start: TimestampLike | None, end: TimestampLike | None, keys: Any = None) -> Question:
        """The question a user asked. Keys are one key or a list of them, a key of several columns a tuple."""
        return Question(
            START_OF_TIME if start is None else timestamp(start),
            END_OF_TIME if end is None else timestamp(end),
            None if keys is None else tuple(_key(plan, key) for key in (keys if isinstance(keys, list) else [keys])),
        )

    def windows(self, plan: Plan) -> tuple[int, int]:
        """The first and last window that can overlap the range."""
        slicing = plan.slicing
        first = NO_WINDOW if self.start < EARLIEST else int(slicing.last_ending_by(np.array([self.start]))[0]) + 1
        if self.end > LATEST:
            return first, EVERY_WINDOW
        return first, int(slicing.windows(slicing.slices(np.array([max(self.end, EARLIEST)])))[1][0])

    def of_keys(self, plan: Plan, columns: list[pa.Array]) -> pa.Array | None:
        """Which rows have one of the keys, given the key columns; None if all are wanted."""
        if self.keys is None:
            return None
        wanted = pa.array(np.zeros(len(columns[0]) if columns else 0, np.bool_))
        for key in self.keys:
            parts = zip(plan.spec.keys, columns, key, strict=True)
            wanted = pc.or_(wanted, _all(_equal(name, column, value) for name, column, value in parts))
        return wanted


class Range(NamedTuple):
    """The chunks of a space from one slice to another; none if the last is before the first."""

    space: str
    first: int
    last: int


def needed(plan: Plan, question: Question, *, messages: bool) -> list[Range]:
    """Which chunks can matter to a question about messages, or about windows; those of other spaces always do."""
    if not is_aligned(plan.spec.window):
        return []  # unaligned panes are kept by other things than their windows' numbers, so all are read
    first, last = question.windows(plan)
    low = _LOWEST if first == NO_WINDOW else plan.slicing.members(first)[0]
    high = _HIGHEST if last == EVERY_WINDOW else plan.slicing.members(last)[1]
    by_slice, by_window, nothing = (low, high), (first, last), (1, 0)
    return [
        Range("records", *(by_slice if messages or plan.gathered else nothing)),
        Range("partials", *(nothing if messages else by_slice)),
        *(Range(space, *(nothing if messages else by_window)) for space in ("panes", "retained")),
    ]


def windows_schema(plan: Plan) -> pa.Schema:
    """The columns of `windows_table`."""
    values = [plan.result.field(name) for name, _ in plan.spec.aggregates]
    return pa.schema([*plan.key_fields, plan.result.field("window"), *values, pa.field("pane", _PANE)])


def windows_table(shard: ShardOperator, question: Question) -> pa.Table:
    """The panes of the windows that overlap the range: keys, window, values, and how many records are in them."""
    plan, schema = shard.plan, windows_schema(shard.plan)
    batches = []
    for status, content in shard.content(*question.windows(plan)):
        starts, ends = content.bounds(plan)
        pane = [pa.array(content.rows), pa.repeat(status, len(content.windows))]
        columns = [
            *content.keys,
            window_column(plan, starts, ends),
            *content.values,
            pa.StructArray.from_arrays(pane, fields=list(_PANE)),
        ]
        keep = pa.array((starts < question.end) & (ends > question.start))
        wanted = question.of_keys(plan, content.keys)
        batch = pa.record_batch(columns, schema=schema)
        batches.append(batch.filter(keep if wanted is None else pc.and_(keep, wanted)))
    return pa.Table.from_batches(batches, schema=schema)


def messages_schema(plan: Plan) -> pa.Schema:
    """The columns of `messages_table`: the time, then what is kept."""
    time = plan.result.field("window").type.field("start").type
    kept = [name for name in plan.message_columns if name != plan.spec.time]
    return pa.schema([pa.field(plan.spec.time, time), *(_kept(plan, name) for name in kept)])


def messages_table(shard: ShardOperator, question: Question) -> pa.Table:
    """The stored messages with `start <= time < end`, by time and arrival."""
    plan = shard.plan
    messages = shard.records(max(question.start, EARLIEST), min(question.end, LATEST))
    if messages is None:
        raise no_messages()
    times = messages.column("time").to_numpy()
    keep = pa.array((times >= question.start) & (times < question.end))
    wanted = question.of_keys(plan, [messages.column(f"v.{name}") for name in plan.spec.keys])
    kept = messages.filter(keep if wanted is None else pc.and_(keep, wanted))
    order = pa.array(np.lexsort((kept.column("arrival").to_numpy(), kept.column("time").to_numpy())))
    kept = kept.take(order)
    schema = messages_schema(plan)
    columns = [kept.column(f"v.{name}") for name in schema.names[1:]]
    times = moments(kept.column("time").to_numpy()).cast(schema.types[0])
    return pa.table([times, *columns], schema=schema)


def no_messages() -> EngineError:
    """What is said to those who ask for messages that are not kept."""
    return EngineError(
        "messages: this pipeline keeps no messages, because none of its aggregates needs them. "
        "Ask for them with retention=retention(messages=True)."
    )


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
