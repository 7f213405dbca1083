"""A spec bound to the columns it meets: every name looked up, every type checked, every kernel chosen."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import pyarrow as pa

from fanlight.errors import InputError
from fanlight.kernels.fold import Fold
from fanlight.kernels.keys import check_key
from fanlight.kernels.reducers import MessageReducer, Reducer, bind
from fanlight.kernels.reducers.gathered import GatheredLists
from fanlight.kernels.reducers.inputs import input_type, input_values
from fanlight.kernels.reducers.plain import plain_type
from fanlight.kernels.slicing import Slicing
from fanlight.model.kinds import domain_of, is_aligned
from fanlight.model.spec import WindowSpec
from fanlight.model.windows import TimeDomain

MOMENT = pa.timestamp("us", "UTC")
WINDOW = pa.struct([pa.field("start", MOMENT), pa.field("end", MOMENT)])
POSITIONS = pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])
"""A window over positions instead of times."""
PANE = pa.struct(
    [
        pa.field("op", pa.string()),
        pa.field("timing", pa.string()),
        pa.field("index", pa.int64()),
        pa.field("revision", pa.int64()),
        pa.field("is_last", pa.bool_()),
        pa.field("time", MOMENT),
        pa.field("clock", MOMENT),
    ]
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """An aggregate that needs the messages: where its value stands in the result, and its columns."""

    place: int
    columns: tuple[str, ...]
    reducer: MessageReducer


@dataclass(frozen=True, slots=True)
class Plan:
    """What one shard needs to know: the spec, the slicing, the kernels, the schemas."""

    spec: WindowSpec
    schema: pa.Schema
    slicing: Slicing
    fold: Fold
    folded: tuple[tuple[int, tuple[str, ...]], ...]
    """For each incremental aggregate: where its value stands in the result, and its columns."""
    gathered: tuple[Gathered, ...]
    result: pa.Schema

    @property
    def of_times(self) -> bool:
        """Whether windows are cut out of time, rather than out of positions."""
        return bool(self.result.field("window").type == WINDOW)

    @property
    def key_fields(self) -> list[pa.Field]:
        """The key columns of the result and of every chunk."""
        return [self.result.field(name) for name in self.spec.keys]

    @property
    def rows(self) -> pa.Schema:
        """The columns of the result as users see it: without `pane` where a pane fires once."""
        return self.result.remove(self.result.get_field_index("pane")) if self.spec.fires_once else self.result

    @property
    def keeps_messages(self) -> bool:
        """Whether records are stored by themselves. Unaligned panes keep what they need of theirs."""
        return bool(self.gathered) or self.spec.message_retention

    @property
    def message_columns(self) -> tuple[str, ...]:
        """The input columns a stored message keeps."""
        retention = self.spec.retention
        if retention is not None and retention.messages:
            return tuple(self.schema.names)
        return tuple(dict.fromkeys((*self.spec.keys, *(name for one in self.gathered for name in one.columns))))

    @staticmethod
    def bind(spec: WindowSpec, schema: pa.Schema) -> Plan:
        """Look up every column of `spec` in `schema` and choose the kernels.

        Called once, when the first records or a declared schema are seen.
        """
        for name in spec.columns:
            require_column(schema, name)
        for name in spec.keys:
            check_key(name, schema.field(name).type)
        reducers: list[Reducer] = []
        folded: list[tuple[int, tuple[str, ...]]] = []
        gathered: list[Gathered] = []
        outputs: list[pa.Field] = []
        for place, (name, aggregate) in enumerate(spec.aggregates):
            kind = input_type(aggregate.columns, schema)
            reducer = bind(aggregate, kind)
            outputs.append(pa.field(name, reducer.output))
            if isinstance(reducer, MessageReducer) and not is_aligned(spec.window):
                reducer = GatheredLists(reducer, kind)
            if isinstance(reducer, MessageReducer):
                gathered.append(Gathered(place, aggregate.columns, reducer))
            else:
                folded.append((place, aggregate.columns))
                reducers.append(reducer)
        keys = [pa.field(name, plain_type(schema.field(name).type)) for name in spec.keys]
        window = POSITIONS if domain_of(spec.window) is TimeDomain.ARRIVAL else WINDOW
        result = pa.schema([*keys, pa.field("window", window), *outputs, pa.field("pane", PANE)])
        return Plan(
            spec,
            schema,
            Slicing.of(spec.window, spec.semantics),
            Fold(tuple(reducers), spec.firing_time),
            tuple(folded),
            tuple(gathered),
            result,
        )


def require_column(schema: pa.Schema, name: str) -> None:
    """Refuse a column that is not there, or there twice, and say what is."""
    found = schema.get_all_field_indices(name)
    if len(found) == 1:
        return
    if found:
        raise InputError(f"Column {name!r} stands in the input {len(found)} times. Rename all but one.")
    near = difflib.get_close_matches(name, schema.names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(f"Column {name!r} is not in the input, which has {', '.join(schema.names) or 'none'}.{hint}")


def given(batch: pa.RecordBatch, columns: tuple[str, ...]) -> pa.Array | None:
    """What an aggregate on these columns works on."""
    return input_values(columns, [plain(batch.column(name)) for name in columns])


def values_of(plan: Plan, batch: pa.RecordBatch) -> list[pa.Array | None]:
    """What each incremental aggregate works on; the same object for those on the same columns."""
    found = {columns: given(batch, columns) for columns in dict.fromkeys(columns for _, columns in plan.folded)}
    return [found[columns] for _, columns in plan.folded]


def plain(column: pa.Array) -> pa.Array:
    """A column of plain values: dictionaries and views decoded."""
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)
