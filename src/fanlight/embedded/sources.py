"""What users hand in, as record batches: tables, batches, readers, data frames, records, and streams of them."""

from __future__ import annotations

import reprlib
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import pyarrow as pa

from fanlight.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Record: TypeAlias = Mapping[str, Any]
"""One row by field name; a field that is missing is null."""

Columnar: TypeAlias = "pa.Table | pa.RecordBatch | pd.DataFrame"

Records: TypeAlias = "Columnar | Record | Iterable[Record]"
"""What one bundle may be."""

Source: TypeAlias = "Columnar | pa.RecordBatchReader | Iterable[Columnar] | Iterable[Record]"
"""What a whole input may be; anything that exports an Arrow stream will do as well."""

COLUMNAR_ROWS = 1 << 20
RECORD_ROWS = 8_192
"""How many rows a batch has at most: of what is columnar already, and of what must be gathered first."""

_REFUSALS = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""How Arrow says that values do not make a column."""


def batches(source: Source, *, rows: int | None = None, schema: pa.Schema | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of `source` in order, in batches of at most `rows`; none of them is empty.

    A table or a data frame is cut every `rows` rows, however it is chunked. A stream is read as it is asked for, and
    its own batches stay apart. Records are gathered; the first batch of them settles the columns and types, unless
    `schema` does, and a later record that does not fit is an `InputError`.

    >>> [batch.num_rows for batch in batches(({"ts": n} for n in range(5)), rows=2)]
    [2, 2, 1]
    """
    if rows is not None and rows < 1:
        raise InputError(f"source: `rows` ({rows}) must be at least 1; a batch without rows never ends.")
    at_most = COLUMNAR_ROWS if rows is None else rows
    if isinstance(source, pa.RecordBatchReader):
        return _of_columnar(source, at_most)
    if _is_columnar(source):
        return _of_columnar([source], at_most)
    if hasattr(source, "__arrow_c_stream__"):
        return _of_columnar(_exported(source), at_most)
    if isinstance(source, Mapping):
        raise InputError(
            f"source: one mapping of {_listed(source)} is either a single record or a table of columns; which one is "
            "not said. Pass [record] for the one, pyarrow.table(columns) for the other."
        )
    return _of_stream(_iterable("source", source), rows, schema)


def as_batch(records: Records, schema: pa.Schema | None = None) -> pa.RecordBatch:
    """One bundle as one batch. `schema` settles the columns and types of dicts; columnar bundles bring their own.

    >>> as_batch({"ts": 1, "price": 2.5}).to_pydict()
    {'ts': [1], 'price': [2.5]}
    """
    if isinstance(records, Mapping):
        return _gathered([records], schema, 0)
    if _is_columnar(records):
        return _whole(_table(records))
    if hasattr(records, "__arrow_c_stream__"):
        return _whole(_exported(records).read_all())
    return _gathered(list(_iterable("add", records)), schema, 0)


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
    levels = [name for name in value.index.names if name is not None]
    try:
        frame = value.reset_index(levels) if levels else value
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except _REFUSALS as problem:
        raise InputError(
            f"source: the data frame does not make a table: {'; '.join(map(str, problem.args))}. "
            "Give each of its columns one type."
        ) from problem
    return table.replace_schema_metadata(None)


def _whole(table: pa.Table) -> pa.RecordBatch:
    """One batch of all rows; copies only columns that are in several chunks."""
    parts = table.combine_chunks().to_batches()
    if len(parts) > 1:
        raise InputError(
            f"add: a text or binary column of these {table.num_rows} rows has more than 2 GB, too much for one bundle. "
            "Add fewer rows at a time, or use large_string or large_binary."
        )
    return parts[0] if parts else pa.RecordBatch.from_pylist([], schema=table.schema)


def _of_columnar(values: Iterable[Columnar], rows: int) -> Iterator[pa.RecordBatch]:
    kinds: dict[str, pa.DataType] = {}
    for position, value in enumerate(values):
        table = _table(value)
        _require_same_types(kinds, table.schema, position)
        for start in range(0, table.num_rows, rows):
            yield from table.slice(start, rows).combine_chunks().to_batches()


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


def _of_stream(source: Iterable[Any], rows: int | None, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    """A stream of batches or of records: the first of them says which."""
    stream = iter(source)
    for first in islice(stream, 1):
        whole = chain([first], stream)
        if _is_columnar(first):
            yield from _of_columnar(_only_columnar(whole), COLUMNAR_ROWS if rows is None else rows)
        else:
            yield from _of_records(whole, RECORD_ROWS if rows is None else rows, schema)


def _only_columnar(stream: Iterable[Any]) -> Iterator[Columnar]:
    for position, value in enumerate(stream):
        if not _is_columnar(value):
            raise InputError(
                f"source: item {position} is a {type(value).__name__} among batches. Use batches only, or records only."
            )
        yield value


def _of_records(stream: Iterator[Any], rows: int, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    position = 0
    while records := list(islice(stream, rows)):
        batch = _gathered(records, schema, position)
        # a column without a value yet has no type yet either, and gets it with its first value
        schema = batch.schema
        yield batch
        position += len(records)


def _gathered(records: Sequence[Any], schema: pa.Schema | None, position: int) -> pa.RecordBatch:
    """Records as one batch; `position` is that of the first, for messages."""
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
        _require_known(records, schema, position)
    columns = [
        _column(name, [record.get(name) for record in records], None if field is None else field.type, position)
        for name, field in zip(names, settled, strict=True)
    ]
    fields = [
        pa.field(name, column.type) if field is None else field.with_type(column.type)
        for name, field, column in zip(names, settled, columns, strict=True)
    ]
    if not fields:
        # without a column, only a struct knows how many rows there are
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(records), pa.struct([])))
    settles = pa.schema(fields)
    return pa.RecordBatch.from_arrays(
        columns, schema=settles if schema is None else settles.with_metadata(schema.metadata)
    )


def _require_text(names: list[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"record: the field {name!r} is named by a {type(name).__name__}. Name fields by text.")


def _require_known(records: Sequence[Record], schema: pa.Schema, position: int) -> None:
    known = set(schema.names)
    for number, record in enumerate(records, position):
        if not record.keys() <= known:
            name = next(name for name in record if name not in known)
            raise InputError(
                f"record {number}: the field {name!r} ({reprlib.repr(record[name])}) is new; the columns so far are "
                f"{_listed(schema.names)}. Leave it out, or name every field in `schema`."
            )


def _column(name: str, values: list[Any], kind: pa.DataType | None, position: int) -> pa.Array[Any]:
    """One field of all records as a column of type `kind`; of their own type, if none is settled yet."""
    if kind is not None and pa.types.is_null(kind):
        kind = None
    try:
        column: Any = _converted(values, kind)
    except _REFUSALS as problem:
        place = _first_refused(values, kind)
        value = values[place]
        before = _inferred(values[:place]).type if kind is None else kind
        why = "no column holds such a value" if pa.types.is_null(before) else f"the column is {before}"
        raise InputError(
            f"record {position + place}: the field {name!r} is {reprlib.repr(value)} ({type(value).__name__}), but "
            f"{why}; it cannot be kept as it is. Convert the value, or say the type of {name!r} in `schema`."
        ) from problem
    if isinstance(column, pa.ChunkedArray):
        raise InputError(
            f"record {position} and the {len(values) - 1} after it: the field {name!r} has more than 2 GB in them, too "
            "much for one batch. Use smaller `rows`, or large_string or large_binary in `schema`."
        )
    settled: pa.Array[Any] = column
    return settled


def _converted(values: list[Any], kind: pa.DataType | None) -> pa.Array[Any]:
    """Let Arrow convert, but refuse where it would cut something off without a word, as 2.5 to 2."""
    try:
        own = _inferred(values)
    except _REFUSALS:
        if kind is None:
            raise
        # no common type of their own, as for numbers beyond int64; so each is looked at by itself
        if len(values) > 1:
            for value in values:
                _converted([value], kind)
        return pa.array(values, kind)
    if kind is None or own.type == kind:
        return own
    if _cuts(own.type, kind):
        raise TypeError(f"{own.type} does not fit into {kind}")
    if pa.types.is_temporal(own.type) and pa.types.is_temporal(kind):
        own.cast(kind)
    return pa.array(values, kind)


def _inferred(values: list[Any]) -> pa.Array[Any]:
    own: pa.Array[Any] = pa.array(values)
    if pa.types.is_date(own.type) and any(isinstance(value, datetime) for value in values):
        raise TypeError("a point in time among dates would lose its time of day")
    return own


def _cuts(own: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow keeps values of type `own` as `kind` only by cutting something off."""
    if pa.types.is_integer(kind):
        return bool(pa.types.is_floating(own) or pa.types.is_decimal(own))
    if pa.types.is_floating(kind):
        return bool(pa.types.is_boolean(own))
    if pa.types.is_date(kind):
        return bool(pa.types.is_timestamp(own))
    if isinstance(kind, pa.StructType) and isinstance(own, pa.StructType):
        return any(kind.get_field_index(f.name) < 0 or _cuts(f.type, kind.field(f.name).type) for f in own)
    if isinstance(kind, (pa.ListType, pa.LargeListType)) and isinstance(own, pa.ListType):
        return _cuts(own.value_type, kind.value_type)
    return False


def _first_refused(values: list[Any], kind: pa.DataType | None) -> int:
    """Which value is the one that does not fit: all before it do."""

    def is_refused(length: int) -> bool:
        try:
            _converted(values[:length], kind)
        except _REFUSALS:
            return True
        return False

    return bisect_left(range(1, len(values) + 1), True, key=is_refused)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(str(name) for name in names) or "none"
