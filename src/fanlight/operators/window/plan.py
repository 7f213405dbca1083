"""A window spec bound to its input columns: every name looked up, every type checked, every kernel chosen."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.errors import EngineError, InputError
from fanlight.kernels.aggregates import MessageReducer, Reducer, bind
from fanlight.kernels.aggregates.aggregation import Aggregation
from fanlight.kernels.aggregates.count_sum_mean import CountRows
from fanlight.kernels.aggregates.from_messages import ReducedMessages
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.kernels.aggregates.inputs import input_type
from fanlight.kernels.aggregates.user_class import UserStates
from fanlight.kernels.grouping.groups import check_key
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.reducer import takes_back
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.model.changes import Changes
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.operators.accounting import MOMENT
from fanlight.operators.ingest.columns import require_column
from fanlight.operators.ingest.operations import OperationReader

WINDOW = pa.struct([pa.field("start", MOMENT), pa.field("end", MOMENT)])
POSITIONS = pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])
"""A window over positions instead of times."""
PANE = pa.struct(
    [
        pa.field("op", pa.string()),
        pa.field("timing", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("revision", pa.int64()),
        pa.field("is_last", pa.bool_()),
        pa.field("time", MOMENT),
        pa.field("clock", MOMENT),
    ]
)


def check_offsets(name: str, kind: pa.DataType) -> None:
    """Refuse a column that cannot be offsets."""
    if not pa.types.is_integer(kind):
        raise InputError(
            f"retention: `offsets` names the column {name!r}, which is {kind}; offsets are whole numbers. "
            "Name another column, or cast it."
        )


@dataclass(frozen=True, slots=True)
class MessageAggregate:
    """An aggregate that needs the messages: the place of its value in the result, and its columns."""

    place: int
    columns: tuple[str, ...]
    reducer: MessageReducer


@dataclass(frozen=True, slots=True)
class Plan:
    """What one shard needs to know: the spec, the slicing, the kernels, the schemas."""

    spec: WindowSpec
    schema: pa.Schema
    slicing: Slicing
    aggregation: Aggregation
    incremental: tuple[tuple[int, tuple[str, ...]], ...]
    """For each incremental aggregate: the place of its value in the result, and its columns."""
    gathered: tuple[MessageAggregate, ...]
    result: pa.Schema
    of_times: bool
    """Whether windows are over times or over positions."""
    is_aligned: bool
    """Whether every key has the same windows."""
    is_plain: bool
    """Whether all columns that are read hold plain values, so that none has to be decoded."""
    key_fields: tuple[pa.Field, ...]
    """The key columns of the result and of every chunk."""
    operations: OperationReader | None
    """Reads what records do to earlier ones, where they are changes."""
    keeps_messages: bool
    """Whether records are stored as messages. Unaligned panes store what they need of their records."""

    @property
    def rows(self) -> pa.Schema:
        """The columns of the result as users see it: without `pane` where a pane fires once."""
        return self.result.remove(self.result.get_field_index("pane")) if self.spec.fires_once else self.result

    @property
    def user_states(self) -> tuple[tuple[int, UserStates], ...]:
        """The aggregates of users' own classes, which may say what takes a value back: places and reducers."""
        own = [(place, one) for (place, _), one in zip(self.incremental, self.aggregation.visible, strict=True)]
        reduced = [
            (one.place, one.reducer.reducer) for one in self.gathered if isinstance(one.reducer, ReducedMessages)
        ]
        return tuple((place, one) for place, one in [*own, *reduced] if isinstance(one, UserStates))

    @property
    def message_columns(self) -> tuple[str, ...]:
        """The input columns of a stored message."""
        retention = self.spec.retention
        if retention is not None and retention.messages:
            return tuple(self.schema.names)
        worked_on = [name for one in self.gathered for name in one.columns]
        if self.spec.changes is not None and self.spec.heeds_arrival:
            worked_on = [name for name in self.spec.columns if name not in (self.spec.time, self.spec.changes.op)]
        return tuple(dict.fromkeys((*self.spec.keys, *worked_on)))

    @staticmethod
    def bind(spec: WindowSpec, schema: pa.Schema) -> Plan:
        """Look up every column of `spec` in `schema` and choose the kernels.

        Called once, when the first records or a declared schema are seen.
        """
        for name in spec.columns:
            require_column(schema, name)
        for name in spec.keys:
            check_key(name, schema.field(name).type)
        if spec.offsets is not None:
            check_offsets(spec.offsets, schema.field(spec.offsets).type)
        aligned = spec.window.is_aligned
        _check_changes(spec.changes, aligned=aligned)
        reducers: list[Reducer] = [] if spec.changes is None else [CountRows()]
        incremental: list[tuple[int, tuple[str, ...]]] = []
        gathered: list[MessageAggregate] = []
        outputs: list[pa.Field] = []
        for place, (name, aggregate) in enumerate(spec.aggregates):
            kind = input_type(aggregate.columns, schema)
            reducer = bind(aggregate, kind)
            outputs.append(pa.field(name, reducer.output))
            if spec.changes is not None and isinstance(reducer, Reducer) and not takes_back(reducer):
                reducer = ReducedMessages(reducer)
            if isinstance(reducer, MessageReducer) and not aligned:
                reducer = GatheredLists(reducer, kind)
            if isinstance(reducer, MessageReducer):
                gathered.append(MessageAggregate(place, aggregate.columns, reducer))
            else:
                incremental.append((place, aggregate.columns))
                reducers.append(reducer)
        keys = [pa.field(name, plain_type(schema.field(name).type)) for name in spec.keys]
        window = POSITIONS if spec.window.bounds_domain is TimeDomain.ARRIVAL else WINDOW
        result = pa.schema([*keys, pa.field("window", window), *outputs, pa.field("pane", PANE)])
        return Plan(
            spec,
            schema,
            slicing_of(spec.window, spec.semantics),
            Aggregation(tuple(reducers), spec.firing_time, spec.changes is not None),
            tuple(incremental),
            tuple(gathered),
            result,
            window == WINDOW,
            aligned,
            all(plain_type(schema.field(name).type) == schema.field(name).type for name in spec.columns),
            tuple(keys),
            OperationReader.of(spec.changes, schema),
            bool(gathered) or spec.message_retention,
        )


def _check_changes(changes: Changes | None, *, aligned: bool) -> None:
    """Refuse changes that somebody before these windows has to make fit."""
    if changes is None:
        return
    if not aligned:
        raise EngineError("window: changes come to windows that each key has for itself. Sort them first.")
    if not changes.consistent:
        raise EngineError(
            f"window: the changes (`{changes.op}`) may delete rows that never came, or replace rows that were not "
            "deleted. Normalize them first (`NormalizeSpec`)."
        )
