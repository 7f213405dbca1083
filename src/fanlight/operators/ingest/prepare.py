"""Records prepared for their operator: rows left out, columns chosen, computed and extracted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fanlight.errors import InputError, SpecError
from fanlight.kernels.grouping.groups import Bools
from fanlight.kernels.plain_type import plain_type
from fanlight.kernels.repeat_text import repeat_text
from fanlight.model.preparation import (
    Extract,
    Intake,
    Preparation,
    PreparationStep,
    Select,
    Sided,
    Tag,
    Where,
    WholeRow,
    text_of,
)
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.ingest.bundle import TimeReader, without_views
from fanlight.operators.ingest.columns import field_of, require_column
from fanlight.operators.ingest.expressions import Evaluator
from fanlight.operators.ingest.siding import Siding


@dataclass(frozen=True, slots=True)
class Prepared:
    """Records after their preparation."""

    batch: pa.RecordBatch
    kept: Bools | None
    """Which of the rows that came have stayed; None if all have."""
    left_out: int
    """How many rows have not stayed."""


class Preparer:
    """Runs a preparation. Rows keep their order, and the same batch gives the same whenever it comes.

    >>> import fanlight as fl
    >>> from fanlight.model.preparation import select_of, where_of
    >>> preparer = Preparer(Preparation((where_of(fl.col("price") > 2), select_of("id", cents=fl.col("price") * 100))))
    >>> prepared = preparer.apply(pa.record_batch({"id": [7, 8, 9], "price": [3, None, 1]}))
    >>> prepared.batch.to_pylist(), prepared.kept.tolist(), prepared.left_out
    ([{'id': 7, 'cents': 300}], [True, False, False], 2)
    """

    def __init__(self, preparation: Preparation) -> None:
        self.preparation = preparation
        self._steps = tuple(_runner(step) for step in preparation.steps)

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """The columns after the preparation; a `SpecError` if it cannot be done to these columns.

        A function that extracts a column is handed a batch without rows, to see the type of what it returns.
        """
        schema = without_views(schema)
        for step in self._steps:
            schema = step.schema_of(schema)
        return schema

    def apply(self, batch: pa.RecordBatch) -> Prepared:
        """The records of a batch after the preparation."""
        plain = without_views(batch.schema)
        batch = batch if plain.equals(batch.schema) else batch.cast(plain)
        kept: Bools | None = None
        for step in self._steps:
            batch, stayed = step.run(batch)
            if stayed is not None:
                kept = stayed if kept is None else _within(kept, stayed)
        return Prepared(batch, kept, 0 if kept is None else int(len(kept) - np.count_nonzero(kept)))


@dataclass(frozen=True, slots=True)
class Gated:
    """What an input brings to its operator, and what its preparation has left out."""

    batch: pa.RecordBatch
    left_out: int = 0
    greatest: Timestamp | None = None
    """The greatest time among the records that were left out; None if there is none that can be read."""
    watermark: Timestamp | None = None
    """The watermark that control rows have said; None if there were none."""


class Gate:
    """Prepares the records of one input. Those it leaves out still move the watermark, as they would have."""

    def __init__(self, intake: Intake, times: TimeReader) -> None:
        steps = intake.preparation.steps
        extracts = next((place for place, step in enumerate(steps) if not isinstance(step, Extract)), len(steps))
        self._extractor = Preparer(Preparation(steps[:extracts]))
        self._rest = Preparer(Preparation(steps[extracts:]))
        self._unfiltered = Preparer(Preparation(tuple(step for step in steps if not isinstance(step, Where))))
        self._whole = Preparer(intake.preparation)
        self._times = replace(times, column=intake.time, unit=intake.unit or times.unit)
        self._control = intake.control

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """The columns after the preparation."""
        if self._control is not None:
            require_column(schema, self._control)
            schema = schema.remove(schema.get_field_index(self._control))
        return self._whole.schema_of(schema)

    def take(self, batch: pa.RecordBatch, clock: Timestamp) -> Gated:
        """The records after the preparation."""
        batch, watermark = self._heard(batch)
        whole = self._extractor.apply(batch).batch
        prepared = self._rest.apply(whole)
        if prepared.kept is None:
            return Gated(prepared.batch, watermark=watermark)
        gone = whole.filter(pa.array(~prepared.kept))
        return Gated(prepared.batch, prepared.left_out, self._times.greatest(gone, clock), watermark)

    def _heard(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Timestamp | None]:
        """The records of a batch, and the watermark that its other rows say."""
        if self._control is None:
            return batch, None
        require_column(batch.schema, self._control)
        said = batch.column(self._control)
        records = batch.filter(said.is_null()).drop_columns([self._control])
        return records, replace(self._times, column=self._control, ahead=None).greatest(batch, START_OF_TIME)

    def unfiltered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """All records, with the columns that the others have after the preparation."""
        return self._unfiltered.apply(self._heard(batch)[0]).batch


def common_schema(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns that all inputs have: the same names and types, in any order; a `SpecError` if they differ."""
    (first, columns), *others = schemas.items()
    for name, schema in others:
        for field in {one.name: one for one in [*columns, *schema]}.values():
            kinds = [side.field(field.name).type if field.name in side.names else None for side in (columns, schema)]
            if kinds[0] != kinds[1]:
                if None not in kinds and any(pa.types.is_null(kind) for kind in kinds):
                    continue  # one side of a join says nothing of the other
                said = ["missing" if kind is None else str(kind) for kind in kinds]
                raise SpecError(
                    f"union: the column {field.name!r} is {said[0]} in {first!r} and {said[1]} in {name!r}, and one "
                    "stream has one kind of records. Make them alike with select(…) on an input."
                )
    return _typed(columns, [schema for _, schema in others])


def _typed(columns: pa.Schema, others: list[pa.Schema]) -> pa.Schema:
    """The columns; one without a type has that of the first other input that knows one."""
    for place, field in enumerate(columns):
        if pa.types.is_null(field.type):
            kinds = [schema.field(field.name).type for schema in others]
            columns = columns.set(
                place, field.with_type(next((k for k in kinds if not pa.types.is_null(k)), field.type))
            )
    return columns


class _Step(Protocol):
    """One step at work."""

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """The columns after it."""

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        """The records after it, and which rows have stayed; None if all have."""


def _runner(step: PreparationStep) -> _Step:
    match step:
        case Where():
            return _Filter(step)
        case Select():
            return _Projection(step)
        case Extract():
            return _Extraction(step)
        case Tag():
            return _Tagging(step)
        case WholeRow():
            return _Wrapping(step)
        case Sided():
            return Siding(step)


class _Filter:
    def __init__(self, where: Where) -> None:
        self._text = text_of(where.expression)
        self._evaluator = Evaluator("where", (("", where.expression),))

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        (kind,) = self._evaluator.types(schema)
        # a column of which only nulls have come has no type yet, and null is a condition that is not true
        if not (pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise SpecError(
                f"where: {self._text} is of type {kind}, and a condition is true or false. Compare it with something, "
                f"as in fl.col({schema.names[0]!r}) > 0."
            )
        return schema

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        self.schema_of(batch.schema)
        (condition,) = self._evaluator.columns(batch)
        if pa.types.is_null(condition.type):
            condition = condition.cast(pa.bool_())
        stays = condition.fill_null(False) if condition.null_count else condition
        mask: Bools = stays.to_numpy(zero_copy_only=False)
        return (batch, None) if mask.all() else (batch.filter(stays), mask)


class _Projection:
    def __init__(self, select: Select) -> None:
        self._columns = select.columns
        computed = tuple((name, source) for name, source in select.columns if not isinstance(source, str))
        self._evaluator = Evaluator("select", computed)
        self._known: tuple[pa.Schema, pa.Schema] | None = None

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        if self._known is None or not self._known[0].equals(schema):
            types = iter(self._evaluator.types(schema))
            fields = [
                field_of(schema, source).with_name(name) if isinstance(source, str) else pa.field(name, next(types))
                for name, source in self._columns
            ]
            self._known = schema, pa.schema(fields)
        return self._known[1]

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        schema = self.schema_of(batch.schema)
        computed = iter(self._evaluator.columns(batch))
        columns = [batch.column(source) if isinstance(source, str) else next(computed) for _, source in self._columns]
        return pa.RecordBatch.from_arrays(columns, schema=schema), None


class _Extraction:
    def __init__(self, extract: Extract) -> None:
        self._function = extract.function
        self._name = extract.name
        self._told = extract.told

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        self._require_new(schema)
        none = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
        try:
            column = self._column(none)
        except Exception as problem:
            raise SpecError(
                f"{self._told}: the function is handed a batch without rows, to see the type of its column, and "
                f"failed: {problem}. Let it return a column without values then."
            ) from problem
        if pa.types.is_null(column.type):
            raise SpecError(
                f"{self._told}: of a batch without rows the function returned a column without a type. "
                "Return a pyarrow or NumPy array that has one."
            )
        return schema.append(pa.field(self._name, column.type))

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        self._require_new(batch.schema)
        return batch.append_column(self._name, self._column(batch)), None

    def _require_new(self, schema: pa.Schema) -> None:
        if self._name in schema.names:
            raise SpecError(
                f"{self._told}: there is a column {self._name!r} already, of {', '.join(schema.names)}. "
                "Give the new one another name."
            )

    def _column(self, batch: pa.RecordBatch) -> pa.Array:
        column = self._as_array(self._function(batch))
        if len(column) != len(batch):
            raise InputError(
                f"{self._told}: the function returned {len(column)} values for {len(batch)} records. "
                "Return one for each."
            )
        return column

    def _as_array(self, returned: Any) -> pa.Array:
        if isinstance(returned, pa.Array):
            return returned
        if isinstance(returned, pa.ChunkedArray):
            return returned.combine_chunks()
        try:
            return pa.array(returned)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, TypeError) as problem:
            raise InputError(
                f"{self._told}: the function returned a {type(returned).__name__}, which is no column ({problem}). "
                "Return a pyarrow or NumPy array."
            ) from None


class _Tagging:
    def __init__(self, tag: Tag) -> None:
        self._column = tag.column
        self._word = tag.value
        self._told = repeat_text(self._word, 0)

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        if self._column in schema.names:
            raise SpecError(
                f"union: an input has a column {self._column!r} already, and a union says there where a record came "
                f"from. Give that column another name, as in select(..., other={self._column!r})."
            )
        return schema.append(pa.field(self._column, pa.string()))

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        schema = self.schema_of(batch.schema)
        if len(self._told) < len(batch):  # the longest is kept: every bundle has the same words
            self._told = repeat_text(self._word, len(batch))
        return pa.RecordBatch.from_arrays([*batch.columns, self._told.slice(0, len(batch))], schema=schema), None


class _Wrapping:
    def __init__(self, whole: WholeRow) -> None:
        self._keeps = whole.keeps
        self._name = whole.name
        self._without = whole.without

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        kept = list(schema) if self._keeps is None else [field_of(schema, name, "window") for name in self._keeps]
        if any(field.name == self._name for field in kept):
            raise SpecError(
                f"window: a column is called {self._name!r}, and the whole record is called so here. Give that column "
                f"another name, as in select(…, other={self._name!r})."
            )
        return pa.schema([*kept, pa.field(self._name, pa.struct(self._fields(schema)))])

    def _fields(self, schema: pa.Schema) -> list[pa.Field]:
        """The fields of a record, decoded: a struct of dictionaries cannot be joined with another."""
        return [field.with_type(plain_type(field.type)) for field in schema if field.name not in self._without]

    def run(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Bools | None]:
        fields = self._fields(batch.schema)
        decoded = [_decoded(batch.column(field.name), field.type) for field in fields]
        whole = pa.StructArray.from_arrays(decoded, fields=fields)
        columns = batch.columns if self._keeps is None else [batch.column(name) for name in self._keeps]
        return pa.RecordBatch.from_arrays([*columns, whole], schema=self.schema_of(batch.schema)), None


def _decoded(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _within(kept: Bools, stayed: Bools) -> Bools:
    """Which of the rows that came have stayed after one more step, which saw only those kept before it."""
    both = kept.copy()
    both[kept] = stayed
    return both
