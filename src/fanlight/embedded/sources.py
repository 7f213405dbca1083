"""Convert user input to record batches: tables, batches, readers, data frames, records, and streams of them."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import pyarrow as pa

from fanlight.embedded.python_columns import REFUSALS, column_of, column_of_fitting
from fanlight.errors import InputError
from fanlight.operators.ingest.conform import CheckedBatch, Faults
from fanlight.operators.ingest.remarks import Remarks

if TYPE_CHECKING:
    import pandas as pd

Record: TypeAlias = Mapping[str, Any]
"""One row by field name; a field that is missing is null."""

Columnar: TypeAlias = "pa.Table | pa.RecordBatch | pd.DataFrame"

Records: TypeAlias = "Columnar | Record | Iterable[Record]"
"""The types that one bundle may have."""

Source: TypeAlias = "Columnar | pa.RecordBatchReader | Iterable[Columnar] | Iterable[Record]"
"""The types that a whole input may have; anything that exports an Arrow stream works too."""

COLUMNAR_ROWS = 1 << 20
RECORD_ROWS = 8_192
"""The most rows of a batch: of columnar input and of lists, and of records that must be gathered first."""


def bundles(
    source: Source, *, rows: int | None = None, schema: pa.Schema | None = None, remarks: Remarks | None = None
) -> Iterator[CheckedBatch]:
    """The rows of `source` in order, in bundles of at most `rows`; none of them is empty.

    A table or a data frame is cut every `rows` rows, however it is chunked. A stream is read as it is asked for, and
    its own batches stay apart. Records are gathered; the first bundle of them settles the columns and types, unless
    `schema` does. A value that does not fit is null, and its record is marked; a field that is no column is left out,
    and `remarks` say so. Without `remarks` either is an `InputError`.

    >>> [came.batch.num_rows for came in bundles(({"ts": n} for n in range(5)), rows=2)]
    [2, 2, 1]
    """
    if rows is not None and rows < 1:
        raise InputError(f"source: `rows` ({rows}) must be at least 1; a batch without rows never ends.")
    at_most = COLUMNAR_ROWS if rows is None else rows
    if isinstance(source, pa.RecordBatchReader):
        return _of_columnar(source, at_most, schema, remarks)
    if _is_columnar(source):
        return _of_columnar([source], at_most, schema, remarks)
    if hasattr(source, "__arrow_c_stream__"):
        return _of_columnar(_exported(source), at_most, schema, remarks)
    if isinstance(source, Mapping):
        raise InputError(
            f"source: one mapping of {_listed(source)} is either a single record or a table of columns; which one is "
            "not said. Pass [record] for the one, pyarrow.table(columns) for the other."
        )
    if rows is None and isinstance(source, Sequence):
        rows = COLUMNAR_ROWS  # it is here already: one bundle, as a table is
    return _of_stream(_iterable("source", source), rows, schema, remarks)


def as_bundle(
    records: Records | CheckedBatch, schema: pa.Schema | None = None, remarks: Remarks | None = None
) -> CheckedBatch:
    """One bundle as it came. `schema` settles the columns and types of dicts; columnar bundles bring their own.

    Values that do not fit, and fields that are no column, are as in `bundles`.

    >>> as_bundle({"ts": 1, "price": 2.5}).batch.to_pydict()
    {'ts': [1], 'price': [2.5]}
    """
    if isinstance(records, CheckedBatch):
        return records
    if isinstance(records, Mapping):
        return _gathered([records], schema, 0, remarks)
    if _is_columnar(records):
        read = _table_or_came(records, schema, remarks)
        return read if isinstance(read, CheckedBatch) else CheckedBatch(_whole(read))
    if hasattr(records, "__arrow_c_stream__"):
        return CheckedBatch(_whole(_exported(records).read_all()))
    return _gathered(list(_iterable("add", records)), schema, 0, remarks)


def _exported(value: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(value)
    except pa.ArrowException as problem:
        raise InputError(
            f"source: the Arrow stream of a {type(value).__name__} is no stream of rows: {problem}. "
            "Pass a table of columns."
        ) from problem


def _iterable(called: str, value: Any) -> Iterable[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InputError(
            f"{called}: {reprlib.repr(value)} is a {type(value).__name__}, which holds no records. "
            "Pass an Arrow table or batch, a data frame, or an iterable of dicts."
        )
    return value


def _is_columnar(value: object) -> TypeGuard[Columnar]:
    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return True
    # a data frame can only come from a process that has imported pandas
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _table(value: Columnar) -> pa.Table:
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    try:
        table = pa.Table.from_pandas(_with_index(value), preserve_index=False)
    except REFUSALS as problem:
        raise InputError(
            f"source: the data frame does not make a table: {'; '.join(map(str, problem.args))}. "
            "Give each of its columns one type."
        ) from problem
    return table.replace_schema_metadata(None)


def _table_or_came(value: Columnar, schema: pa.Schema | None, remarks: Remarks | None) -> pa.Table | CheckedBatch:
    """A table; or, if single values of a data frame do not fit, the frame converted value by value."""
    try:
        return _table(value)
    except InputError:
        if remarks is None or isinstance(value, (pa.Table, pa.RecordBatch)) or not value.columns.is_unique:
            raise
    frame = _with_index(value)
    plain = frame.astype(object).where(frame.notna(), None)  # type: ignore[call-overload]  # its types know no None
    return _gathered(plain.to_dict("records"), schema, 0, remarks)


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, with its index as a column if the index has a name."""
    levels = [name for name in frame.index.names if name is not None]
    return frame.reset_index(levels) if levels else frame


def _whole(table: pa.Table) -> pa.RecordBatch:
    """One batch of all rows; copies only columns that are in several chunks."""
    parts = table.combine_chunks().to_batches()
    if len(parts) > 1:
        raise InputError(
            f"add: a text or binary column of these {table.num_rows} rows has more than 2 GB, too much for one bundle. "
            "Add fewer rows at a time, or use large_string or large_binary."
        )
    return parts[0] if parts else pa.RecordBatch.from_pylist([], schema=table.schema)


def _of_columnar(
    values: Iterable[Columnar], rows: int, schema: pa.Schema | None, remarks: Remarks | None
) -> Iterator[CheckedBatch]:
    kinds: dict[str, pa.DataType] = {}
    for position, value in enumerate(values):
        read = _table_or_came(value, schema, remarks)
        if isinstance(read, CheckedBatch):
            schema = schema or read.batch.schema
            yield from read.cut(rows)
            continue
        schema = schema or read.schema
        if remarks is None:
            _require_same_types(kinds, read.schema, position)
        for start in range(0, read.num_rows, rows):
            yield from map(CheckedBatch, read.slice(start, rows).combine_chunks().to_batches())


def _require_same_types(kinds: dict[str, pa.DataType], schema: pa.Schema, position: int) -> None:
    """Compare a batch of a stream with those before it; `kinds` learns the types of new columns."""
    for field in schema:
        known = kinds.get(field.name)
        if known is None or pa.types.is_null(known):
            kinds[field.name] = field.type
        elif field.type != known and not pa.types.is_null(field.type):
            raise InputError(
                f"source: column {field.name!r} is {field.type} in batch {position} and was {known} before; the two do "
                "not go together. Give every batch the same types."
            )


def _of_stream(
    source: Iterable[Any], rows: int | None, schema: pa.Schema | None, remarks: Remarks | None
) -> Iterator[CheckedBatch]:
    """A stream of batches or of records: the first of them says which."""
    stream = iter(source)
    for first in islice(stream, 1):
        whole = chain([first], stream)
        if _is_columnar(first):
            at_most = COLUMNAR_ROWS if rows is None else rows
            yield from _of_columnar(_only_columnar(whole), at_most, schema, remarks)
        else:
            yield from _of_records(whole, RECORD_ROWS if rows is None else rows, schema, remarks)


def _only_columnar(stream: Iterable[Any]) -> Iterator[Columnar]:
    for position, value in enumerate(stream):
        if not _is_columnar(value):
            raise InputError(
                f"source: item {position} is a {type(value).__name__} among batches. Use batches only, or records only."
            )
        yield value


def _of_records(
    stream: Iterator[Any], rows: int, schema: pa.Schema | None, remarks: Remarks | None
) -> Iterator[CheckedBatch]:
    position = 0
    while records := list(islice(stream, rows)):
        came = _gathered(records, schema, position, remarks)
        # a column without a value yet has no type yet either, and gets it with its first value
        schema = came.batch.schema
        yield came
        position += len(records)


def _gathered(records: Sequence[Any], schema: pa.Schema | None, position: int, remarks: Remarks | None) -> CheckedBatch:
    """Records as one bundle; `position` is that of the first, for messages."""
    for number, record in enumerate(records, position):
        if not isinstance(record, Mapping):
            raise InputError(
                f"record {number}: {reprlib.repr(record)} is a {type(record).__name__}, not a dict. "
                "Pass each record as a dict of field names and values."
            )
    if schema is None:
        names = list(dict.fromkeys(chain.from_iterable(records)))
        _require_text(names)
        settled: list[pa.Field[Any] | None] = [None] * len(names)
    else:
        names, settled = schema.names, list(schema)
        _look_for_unknown(records, schema, position, remarks)
    faults = Faults()
    columns = []
    for name, field in zip(names, settled, strict=True):
        values, kind = [record.get(name) for record in records], None if field is None else field.type
        if remarks is None:
            columns.append(column_of(name, values, kind, position))
        else:
            columns.append(column_of_fitting(name, values, kind, position, faults))
    if not columns:
        # without a column, only a struct knows how many rows there are
        return CheckedBatch(pa.RecordBatch.from_struct_array(pa.array([{}] * len(records), pa.struct([]))))
    batch = pa.RecordBatch.from_arrays(columns, schema=_schema_of(columns, names, schema))
    return CheckedBatch(batch, faults.details(len(batch)))


def _schema_of(columns: list[pa.Array[Any]], names: list[str], known: pa.Schema | None) -> pa.Schema:
    """The schema of these columns: the one that is known, with a type for every column that had none."""
    if known is None:
        return pa.schema([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)])
    if all(column.type == kind for column, kind in zip(columns, known.types, strict=True)):
        return known
    fields = [field.with_type(column.type) for field, column in zip(known, columns, strict=True)]
    return pa.schema(fields, known.metadata)


def _require_text(names: list[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"record: the field {name!r} is named by a {type(name).__name__}. Name fields by text.")


def _look_for_unknown(records: Sequence[Record], schema: pa.Schema, position: int, remarks: Remarks | None) -> None:
    """Find fields that are no column: `remarks` say that they are left out; without, they are refused."""
    known = set(schema.names)
    for number, record in enumerate(records, position):
        if not record.keys() <= known:
            name = next(name for name in record if name not in known)
            if remarks is not None:
                remarks.unasked(record, schema)
                return
            raise InputError(
                f"record {number}: the field {name!r} ({reprlib.repr(record[name])}) is new; the columns so far are "
                f"{_listed(schema.names)}. Leave it out, or name every field in `schema`."
            )


def _listed(names: Iterable[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"
