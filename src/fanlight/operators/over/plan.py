"""A spec of `over` bound to its input columns: every name looked up, every type checked, every kernel chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.aggregates import Reducer
from fanlight.kernels.aggregates.aggregation import Aggregation
from fanlight.kernels.aggregates.inputs import input_values
from fanlight.kernels.aggregates.mergeable import mergeable
from fanlight.kernels.grouping.groups import check_key
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.sort_time import check_tie
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.code import UserBatch
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.firing import FiringTime
from fanlight.model.over.frame import Frame, SessionFrame
from fanlight.model.over.functions import ColumnFunction, CumeDist, DenseRank, Lag, LastValue, PercentRank, Rank
from fanlight.model.over.spec import Computed, OverSpec
from fanlight.operators.ingest.columns import plain, require_column
from fanlight.operators.sort.gather import require_movable

Values = dict[str, pa.Array]
"""Columns by name."""


@dataclass(frozen=True, slots=True)
class FrameAggregates:
    """The aggregates of one frame: their places among the new columns, the columns they work on, their kernels."""

    frame: Frame
    places: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]
    aggregation: Aggregation
    goes_by_order: bool = False
    """Whether they see rows in the order of their partition, whatever their times."""

    def values(self, columns: Values) -> list[pa.Array | None]:
        """What each aggregate works on."""
        found: dict[tuple[str, ...], pa.Array | None] = {}
        for names in self.columns:
            if names not in found:
                found[names] = input_values(names, [columns[name] for name in names])
        return [found[names] for names in self.columns]


@dataclass(frozen=True, slots=True)
class OverPlan:
    """What one shard needs to know: the spec, the kernels, the schemas."""

    spec: OverSpec
    schema: pa.Schema
    result: pa.Schema
    waiting: pa.Schema
    """The columns that are kept of a row that waits: all of it, or where it has left already, what others look at."""
    aggregates: tuple[FrameAggregates, ...]
    """The aggregates of frames that have a start."""
    running: tuple[FrameAggregates, ...]
    """Those of frames that start with the first row: a total of what was released goes before them."""
    totals: Aggregation
    """The totals of all of these, side by side."""
    context: tuple[pa.Field, ...]
    """The columns of released rows that are kept: those that frames and functions look at."""

    @staticmethod
    def bind(spec: OverSpec, schema: pa.Schema) -> OverPlan:
        """Look up every column, and choose the kernels."""
        for name in spec.columns:
            require_column(schema, name)
        for name in spec.keys:
            check_key(name, schema.field(name).type)
        for by in (*spec.order, *spec.by):
            check_tie(by.column, schema.field(by.column).type, "over")
        for field in schema:
            require_movable(field.name, field.type)
        outputs, found = bound_columns(spec.new_columns, schema)
        running = tuple(one for one in found if one.frame.is_unbounded)
        context = _context(spec, schema)
        return OverPlan(
            spec,
            schema,
            _result(spec, schema, outputs),
            _waiting(spec, schema, context),
            tuple(one for one in found if not one.frame.is_unbounded),
            running,
            Aggregation(tuple(reducer for one in running for reducer in one.aggregation.reducers), FiringTime.END),
            context,
        )

    @property
    def outputs(self) -> list[pa.Field]:
        """The new columns."""
        return [self.result.field(one.name) for one in self.spec.new_columns]

    @property
    def keys(self) -> list[pa.Field]:
        """The key columns, as they are kept."""
        return [pa.field(name, plain_type(self.schema.field(name).type)) for name in self.spec.keys]

    @property
    def forget(self) -> int | None:
        """How long a key is remembered, in microseconds; None if nothing is kept of a key."""
        return None if self.spec.forget is None else self.spec.forget.micros

    @property
    def rows_before(self) -> int:
        """How many of the newest released rows of a key are kept, whatever their times."""
        needed = [one.frame.rows_before for one in self.spec.new_columns]
        needed += [
            one.function.offset
            for one in self.spec.new_columns
            if isinstance(one.function, Lag) and not one.function.ignore_nulls
        ]
        needed += [1 for one in self.spec.new_columns if isinstance(one.function, LastValue)]
        if self.spec.waits_for_rows:  # rows of one time may leave one after the other, and share their rank
            needed += [1 for one in self.spec.new_columns if isinstance(one.function, Rank | DenseRank)]
        return max(needed)

    @property
    def time_before(self) -> int:
        """How far back from a row that is to come released rows are kept."""
        return max(one.frame.time_before for one in self.spec.new_columns)

    @property
    def looks_back(self) -> bool:
        """Whether rows are looked at from afar: those of sessions, and those after the totals of frames that end before
        their row.
        """
        frames = [one.frame for one in self.spec.new_columns]
        return any(isinstance(one, SessionFrame) or (one.is_unbounded and one.ends_before) for one in frames)

    @property
    def valued_before(self) -> dict[str, int]:
        """By column: how many of the newest released rows with a value in it are kept, whatever their times."""
        needed: dict[str, int] = {}
        for one in self.spec.new_columns:
            function = one.function
            if isinstance(function, ColumnFunction) and function.ignore_nulls:
                count = function.offset if isinstance(function, Lag) else int(isinstance(function, LastValue))
                needed[function.column] = max(needed.get(function.column, 0), count)
        return {name: count for name, count in needed.items() if count}

    def columns_of(self, batch: pa.RecordBatch) -> Values:
        """The columns of rows that are kept when they are released."""
        return {field.name: plain(batch.column(field.name)) for field in self.context}

    def keys_of(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The key columns of rows."""
        return [plain(batch.column(name)) for name in self.spec.keys]


def bound_columns(columns: Sequence[Computed], schema: pa.Schema) -> tuple[list[pa.Field], list[FrameAggregates]]:
    """The new columns over rows of `schema`, and the kernels of the aggregates among them, frame by frame."""
    outputs = []
    groups: dict[tuple[Frame, bool], list[tuple[int, tuple[str, ...], Reducer]]] = {}
    for place, (name, frame, function) in enumerate(columns):
        if name in schema.names:
            raise InputError(f"over: a column {name!r} came already, and the new one needs a name of its own.")
        if isinstance(function, Aggregate):
            reducer = mergeable(function, schema)
            groups.setdefault((frame, isinstance(function, UserBatch)), []).append((place, function.columns, reducer))
            outputs.append(pa.field(name, reducer.output))
        elif isinstance(function, ColumnFunction):
            outputs.append(pa.field(name, plain_type(schema.field(function.column).type)))
        else:
            is_share = isinstance(function, PercentRank | CumeDist)
            outputs.append(pa.field(name, pa.float64() if is_share else pa.int64()))
    return outputs, [_frame_aggregates(*how, own) for how, own in groups.items()]


def _result(spec: OverSpec, schema: pa.Schema, outputs: list[pa.Field]) -> pa.Schema:
    """The columns of the rows that leave; where they are corrected, with their operation."""
    if spec.mode is not EmissionMode.RETRACTING:
        return pa.schema([*schema, *outputs])
    op = pa.field(spec.op, pa.string())
    if spec.changes is not None:
        return pa.schema([*schema.set(schema.get_field_index(spec.op), op), *outputs])
    if spec.op in schema.names:
        raise InputError(
            f"retracting: a column {spec.op!r} came already, and the result says in one of this name what its rows do. "
            f"Rename it with select; if it has the operations of changes, say so, as in stream(…, op={spec.op!r})."
        )
    return pa.schema([*schema, *outputs, op])


def _waiting(spec: OverSpec, schema: pa.Schema, context: tuple[pa.Field, ...]) -> pa.Schema:
    match spec.mode:
        case EmissionMode.EAGER:
            looked_at = {*spec.keys, *(one.column for one in spec.order), *(field.name for field in context)}
            return pa.schema([field for field in schema if field.name in looked_at])
        case EmissionMode.RETRACTING if spec.changes is not None:
            return schema.remove(schema.get_field_index(spec.changes.op))
    return schema


def _context(spec: OverSpec, schema: pa.Schema) -> tuple[pa.Field, ...]:
    """What is looked at in rows that have left: what frames and functions work on."""
    names = [name for one in spec.new_columns for name in one.function.columns]
    return tuple(pa.field(name, plain_type(schema.field(name).type)) for name in dict.fromkeys(names))


def _frame_aggregates(
    frame: Frame, goes_by_order: bool, own: list[tuple[int, tuple[str, ...], Reducer]]
) -> FrameAggregates:
    places, columns, reducers = zip(*own, strict=True)
    return FrameAggregates(frame, places, columns, Aggregation(reducers, FiringTime.END), goes_by_order)
