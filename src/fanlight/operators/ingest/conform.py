"""Convert batches to the columns of a stream: as a whole, or value by value with a note of those that do not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools
from fanlight.kernels.plain_type import plain_type
from fanlight.operators.ingest.columns import plain, require_column


@dataclass(frozen=True, slots=True)
class CheckedBatch:
    """A converted batch. `details` says what is wrong with each record, null if nothing; None if every record fits."""

    batch: pa.RecordBatch
    details: pa.Array | None = None

    def where(self, mask: Bools) -> CheckedBatch:
        """The records that `mask` keeps."""
        kept = pa.array(mask)
        return CheckedBatch(self.batch.filter(kept), None if self.details is None else self.details.filter(kept))

    def cut(self, rows: int) -> Iterator[CheckedBatch]:
        """Bundles of at most `rows`."""
        for start in range(0, len(self.batch), rows):
            details = None if self.details is None else self.details.slice(start, rows)
            yield CheckedBatch(self.batch.slice(start, rows), details)

    def parted(self) -> tuple[pa.RecordBatch, CheckedBatch | None]:
        """The records that fit, and the others; None if there are no others."""
        if self.details is None or self.details.null_count == len(self.details):
            return self.batch, None
        well = self.details.is_null()
        return self.batch.filter(well), CheckedBatch(self.batch, self.details).where(~np.asarray(well))


class Faults:
    """The values of a bundle that do not fit, noted one by one as they are found."""

    def __init__(self) -> None:
        self._found: dict[int, list[dict[str, Any]]] = {}

    def note(self, row: int, field: str, value: object, expected: pa.DataType) -> None:
        """Note a value that is not of the `expected` type."""
        fault = {"field": field, "value": _told(value), "expected": str(expected)}
        self._found.setdefault(row, []).append(fault)

    def details(self, rows: int) -> pa.Array | None:
        """What is wrong with each record, as JSON text: the first fault, and `others` if there are more."""
        if not self._found:
            return None
        return pa.array([_detail(self._found.get(row)) for row in range(rows)], pa.string())


def readable(batch: pa.RecordBatch, schema: pa.Schema) -> CheckedBatch:
    """Convert a batch to the columns of `schema`, value by value where needed; a missing column is an error.

    >>> came = readable(pa.record_batch({"n": [2.0, 2.5]}), pa.schema({"n": pa.int64()}))
    >>> came.batch.to_pydict(), came.details.to_pylist()
    ({'n': [2, None]}, [None, '{"field": "n", "value": 2.5, "expected": "int64"}'])
    """
    if batch.schema.equals(schema):
        return CheckedBatch(batch)
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
    return CheckedBatch(pa.record_batch(columns, schema=schema), faults.details(len(batch)))


def fitting(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column converted to the type of `field`; a value that does not fit exactly becomes null."""
    if column.type == field.type:
        return column
    if pa.types.is_null(field.type):
        raise _refused(column, field, "it had no value yet, and so no type")
    if pa.types.is_dictionary(field.type):  # Arrow casts into few of them
        return fitting(plain(column), field.with_type(field.type.value_type)).dictionary_encode().cast(field.type)
    if _same_names(column.type, field.type):
        return _fitting_parts(column, field)
    if not is_alike(column.type, field.type):
        return pa.nulls(len(column), field.type)
    if pa.types.is_floating(column.type) and pa.types.is_integer(field.type):
        # if every value has a fraction, halving down to each of them would take long
        column = pc.if_else(pc.equal(pc.floor(column), column), column, pa.scalar(None, column.type))
    try:
        return _cast(column, field.type)
    except pa.ArrowNotImplementedError as refusal:
        raise _refused(column, field, str(refusal)) from refusal


def _same_names(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether both are structs of the same fields, whatever their types."""
    both = pa.types.is_struct(one) and pa.types.is_struct(other)
    return both and [part.name for part in one] == [part.name for part in other]


def _fitting_parts(column: pa.Array, field: pa.Field) -> pa.Array:
    """Structs converted part by part; one with a part that does not fit becomes null."""
    parts, fits = [], column.is_valid()
    for came, part in zip(column.flatten(), field.type, strict=True):
        parts.append(fitting(came, part))
        fits = pc.and_(fits, pc.or_(parts[-1].is_valid(), came.is_null()))
    return pa.StructArray.from_arrays(parts, fields=list(field.type), mask=pc.invert(fits))


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch to the columns of `schema`; a column that is missing or does not fit is an error."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        require_column(batch.schema, field.name)
        columns.append(_fitted(batch.column(field.name), field))
    return pa.record_batch(columns, schema=schema)


def kind_of(kind: pa.DataType) -> str:
    """The kind of a type: values may be converted to another type of the same kind, never to another kind."""
    kind = plain_type(kind)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "time" if pa.types.is_timestamp(kind) else str(kind)


def is_alike(came: pa.DataType, known: pa.DataType) -> bool:
    """Whether values may be converted: they are of one kind, or none has come; of structs, so is every field.

    >>> is_alike(pa.struct({"v": pa.null()}), pa.struct({"v": pa.int64()}))
    True
    """
    if pa.types.is_struct(came) and pa.types.is_struct(known):
        names = [field.name for field in came] == [field.name for field in known]
        return names and all(is_alike(one.type, other.type) for one, other in zip(came, known, strict=True))
    return pa.types.is_null(came) or kind_of(came) == kind_of(known)


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast the whole column; if a value does not fit, halve the column until it is found."""
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        if len(column) == 1:
            return pa.nulls(1, kind)
    half = len(column) // 2
    return pa.concat_arrays([_cast(column[:half], kind), _cast(column[half:], kind)])


def _fitted(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column converted to its earlier type: of the same kind, and without loss."""
    if column.type == field.type:
        return column
    if not is_alike(column.type, field.type):
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
    """A value as JSON; as text if JSON has no such type."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return value


def with_types(
    known: pa.Schema, came: pa.Schema, used: Sequence[str], *, inside: bool = False, whole: Sequence[str] = ()
) -> pa.Schema:
    """The known columns; one without a type that nobody uses has the type it came with now.

    With `inside`, so have the fields of structs; and those of the columns `whole`, although they are used, which have
    whole records or lists of them.

    >>> known, came = (pa.schema({"o": pa.struct({"v": kind})}) for kind in (pa.null(), pa.int64()))
    >>> with_types(known, came, (), inside=True).field("o").type
    StructType(struct<v: int64>)
    """
    for i, field in enumerate(known):
        if field.name in whole and field.name in came.names:
            known = known.set(i, field.with_type(_typed_inside(field.type, came.field(field.name).type)))
        if field.name in used or field.name not in came.names:
            continue
        now = came.field(field.name).type
        if pa.types.is_null(field.type):
            known = known.set(i, field.with_type(now))
        elif inside and pa.types.is_struct(field.type) and pa.types.is_struct(now):
            fields = with_types(pa.schema(list(field.type)), pa.schema(list(now)), (), inside=True)
            known = known.set(i, field.with_type(pa.struct(list(fields))))
    return known


def _typed_inside(known: pa.DataType, came: pa.DataType) -> pa.DataType:
    """A struct, or a list of them, whose fields without a type have that with which they came."""
    if pa.types.is_list(known) and pa.types.is_list(came):
        return pa.list_(known.value_field.with_type(_typed_inside(known.value_type, came.value_type)))
    if not (pa.types.is_struct(known) and pa.types.is_struct(came)):
        return known
    return pa.struct(list(with_types(pa.schema(list(known)), pa.schema(list(came)), (), inside=True)))
