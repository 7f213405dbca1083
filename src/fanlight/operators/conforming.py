"""Batches made to fit the columns of a stream: as a whole or not at all, or value by value, with a note of the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.kernels.groups import Bools
from fanlight.kernels.reducers.plain import plain_type
from fanlight.operators.plan import plain, require_column


@dataclass(frozen=True, slots=True)
class Came:
    """A bundle as it came. `details` says what is wrong with a record, null if nothing; None if all are well."""

    batch: pa.RecordBatch
    details: pa.Array | None = None

    def where(self, mask: Bools) -> Came:
        """The records that `mask` keeps."""
        kept = pa.array(mask)
        return Came(self.batch.filter(kept), None if self.details is None else self.details.filter(kept))

    def cut(self, rows: int) -> Iterator[Came]:
        """Bundles of at most `rows`."""
        for start in range(0, len(self.batch), rows):
            details = None if self.details is None else self.details.slice(start, rows)
            yield Came(self.batch.slice(start, rows), details)

    def parted(self) -> tuple[pa.RecordBatch, Came | None]:
        """The records that are well, and apart the others; None if there are no others."""
        if self.details is None or self.details.null_count == len(self.details):
            return self.batch, None
        well = self.details.is_null()
        return self.batch.filter(well), Came(self.batch, self.details).where(~np.asarray(well))


class Faults:
    """The values of a bundle that do not fit, noted one by one as they are found."""

    def __init__(self) -> None:
        self._found: dict[int, list[dict[str, Any]]] = {}

    def note(self, row: int, field: str, value: object, expected: pa.DataType) -> None:
        """A value that is no `expected`."""
        fault = {"field": field, "value": _told(value), "expected": str(expected)}
        self._found.setdefault(row, []).append(fault)

    def details(self, rows: int) -> pa.Array | None:
        """What is wrong with each record, as JSON text: the first fault, and `others` if there are more."""
        if not self._found:
            return None
        return pa.array([_detail(self._found.get(row)) for row in range(rows)], pa.string())


def readable(batch: pa.RecordBatch, schema: pa.Schema) -> Came:
    """A batch with the columns of `schema`, value by value where need be; a column that is missing is an error.

    >>> came = readable(pa.record_batch({"n": [2.0, 2.5]}), pa.schema({"n": pa.int64()}))
    >>> came.batch.to_pydict(), came.details.to_pylist()
    ({'n': [2, None]}, [None, '{"field": "n", "value": 2.5, "expected": "int64"}'])
    """
    if batch.schema.equals(schema):
        return Came(batch)
    faults = Faults()
    columns = []
    for field in schema:
        require_column(batch.schema, field.name)
        column = batch.column(field.name)
        fitted = fitting(column, field)
        columns.append(fitted)
        if fitted.null_count > column.null_count:
            for row in np.flatnonzero(np.asarray(pc.and_not(fitted.is_null(), column.is_null()))).tolist():
                faults.note(row, field.name, column[row].as_py(), field.type)
    return Came(pa.record_batch(columns, schema=schema), faults.details(len(batch)))


def fitting(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column as the type of `field`: values that fit exactly, and null in the place of those that do not."""
    if column.type == field.type:
        return column
    if pa.types.is_null(field.type):
        raise _refused(column, field, "it had no value yet, and so no type")
    if pa.types.is_dictionary(field.type):  # Arrow casts into few of them
        return fitting(plain(column), field.with_type(field.type.value_type)).dictionary_encode().cast(field.type)
    if not (pa.types.is_null(column.type) or kind_of(column.type) == kind_of(field.type)):
        return pa.nulls(len(column), field.type)
    if pa.types.is_floating(column.type) and pa.types.is_integer(field.type):
        # where all have fractions, closing in on each of them would take long
        column = pc.if_else(pc.equal(pc.floor(column), column), column, pa.scalar(None, column.type))
    try:
        return _cast(column, field.type)
    except pa.ArrowNotImplementedError as refusal:
        raise _refused(column, field, str(refusal)) from refusal


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the columns of `schema`; a column that is missing or does not fit is an error."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        require_column(batch.schema, field.name)
        columns.append(_fitted(batch.column(field.name), field))
    return pa.record_batch(columns, schema=schema)


def kind_of(kind: pa.DataType) -> str:
    """What kind of thing a type is: values may become another type of the same kind, and never another kind."""
    kind = plain_type(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "time" if pa.types.is_timestamp(kind) else str(kind)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast the whole column; if a value is in the way, close in on it."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, kind)
    half = len(column) // 2
    return pa.concat_arrays([_cast(column[:half], kind), _cast(column[half:], kind)])


def _fitted(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column as the type it had before: the same kind of thing, and nothing lost on the way."""
    if column.type == field.type:
        return column
    if not (pa.types.is_null(column.type) or kind_of(column.type) == kind_of(field.type)):
        raise _refused(column, field, "they are not the same kind of thing")
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as refusal:
        raise _refused(column, field, str(refusal)) from refusal


def _refused(column: pa.Array, field: pa.Field, problem: str) -> InputError:
    return InputError(
        f"Column {field.name!r} is {column.type} here and was {field.type} before: {problem}. "
        "Give every batch the same types, or declare the schema."
    )


def _detail(faults: list[dict[str, Any]] | None) -> str | None:
    if faults is None:
        return None
    first, *others = faults
    return json.dumps({**first, "others": others} if others else first)


def _told(value: object) -> Any:
    """A value as JSON has it; as text, if JSON has no such thing."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return value
