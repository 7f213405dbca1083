"""Values as text without loss: times in ISO 8601, decimals in digits, lists and structs as JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def lines(table: pa.Table) -> Iterator[str]:
    """Each row as a line of JSON.

    >>> list(lines(pa.table({"k": ["tea"], "window": [{"n": 1}]})))
    ['{"k":"tea","window":{"n":1}}']
    """
    columns = [jsonable(column) for column in table.columns]
    return (_JSON.encode(dict(zip(table.column_names, row, strict=True))) for row in zip(*columns, strict=True))


def as_json(column: pa.ChunkedArray) -> list[str | None]:
    """Each value as JSON; null stays null."""
    return [None if value is None else _JSON.encode(value) for value in jsonable(column)]


def moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Timestamps as text of one length, to the microsecond, in UTC if they have a zone. The text sorts like the times.

    >>> moments(pa.chunked_array([pa.array([0], pa.timestamp("us", "UTC"))])).to_pylist()
    ['1970-01-01T00:00:00.000000Z']
    """
    zone = "" if column.type.tz is None else "Z"
    written = column.cast(pa.timestamp("us")).cast(pa.string())  # a cast is many times as fast as strftime
    joined = pc.replace_substring(written, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(joined, zone, "")


def digits(column: pa.ChunkedArray) -> list[str | None]:
    """Decimals as all their digits, never with an exponent."""
    return [None if value is None else f"{value:f}" for value in column.to_pylist()]


def jsonable(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A column in types that JSON has; all others become text, and so do NaN and the infinities."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return list(moments(column).to_pylist())
    if pa.types.is_decimal(kind):
        return digits(column)
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_duration(kind):
        return list(column.cast(pa.duration("us")).cast(pa.int64()).to_pylist())
    if pa.types.is_nested(kind):
        return [value for chunk in _chunks(column) for value in _nested(chunk)]
    values = column.to_pylist()
    if pa.types.is_floating(kind):
        return [value if value is None or math.isfinite(value) else spelled(value) for value in values]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return [None if value is None else base64.b64encode(value).decode() for value in values]
    return list(values)


def spelled(value: float) -> str:
    """NaN or an infinity, as a word."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _nested(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_struct(kind):
        columns = [jsonable(array.field(place)) for place in range(kind.num_fields)]
        names, valid = [field.name for field in kind], array.is_valid().to_pylist()
        rows = zip(*columns, strict=True) if columns else [()] * len(array)
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]
    if pa.types.is_map(kind):
        pairs = _nested(array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))))
        named = pa.types.is_string(kind.key_type)
        return [None if each is None else _mapping(each, named=named) for each in pairs]
    values = iter(jsonable(array.flatten()))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else list(islice(values, length)) for length in lengths]


def _mapping(pairs: list[dict[str, Any]], *, named: bool) -> dict[str, Any] | list[list[Any]]:
    """A map as an object if its keys are text, else as pairs: JSON knows no other keys."""
    if named:
        return {pair["key"]: pair["value"] for pair in pairs}
    return [[pair["key"], pair["value"]] for pair in pairs]


def _chunks(column: pa.ChunkedArray | pa.Array) -> list[pa.Array]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
