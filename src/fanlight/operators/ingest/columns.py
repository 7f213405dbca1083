"""Columns of a batch, found by their names and decoded."""

from __future__ import annotations

import difflib

import pyarrow as pa

from fanlight.errors import InputError, SpecError
from fanlight.kernels.plain_type import plain_type


def require_column(schema: pa.Schema, name: str) -> None:
    """Refuse a column that is missing or that occurs twice."""
    found = schema.get_all_field_indices(name)
    if len(found) == 1:
        return
    if found:
        raise InputError(f"Column {name!r} occurs in the input {len(found)} times. Rename all but one.")
    near = difflib.get_close_matches(name, schema.names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(f"Column {name!r} is not in the input, which has {', '.join(schema.names) or 'none'}.{hint}")


def field_of(schema: pa.Schema, name: str, word: str = "select") -> pa.Field:
    """A column by its name; a `SpecError` of what asks for it, `word`, if it is not there."""
    try:
        require_column(schema, name)
    except InputError as problem:
        raise SpecError(f"{word}: {problem}") from None
    return schema.field(name)


def plain(column: pa.Array) -> pa.Array:
    """A column of plain values: dictionaries and views decoded."""
    kind = plain_type(column.type)
    return column if kind == column.type else column.cast(kind)
