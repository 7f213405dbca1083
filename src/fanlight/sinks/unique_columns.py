"""The columns that identify a row, named by the user; checked before a query starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import pyarrow as pa

from fanlight.errors import InputError, SpecError
from fanlight.kernels.grouping.groups import check_key

Unique = str | Iterable[str]
"""The name of a column, or several."""


def unique_columns(unique: Unique, rows: pa.Schema, op: str | None) -> tuple[str, ...]:
    """The columns that `unique` names, if a table of these rows can be told apart by them; `op` is no part of a row.

    >>> unique_columns("id", pa.schema({"id": pa.int64(), "price": pa.float64()}), None)
    ('id',)
    """
    columns: tuple[object, ...] = as_columns(unique)
    if not columns:
        raise SpecError("write_to: `unique` names no column. Name one, or leave it out: rows are then added.")
    names = tuple(_comparable(column, rows, op) for column in columns)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise SpecError(f"write_to: `unique` names the column {twice!r} twice. Name it once.")
    return names


def as_columns(unique: object) -> tuple[object, ...]:
    """What a user wrote as `unique`, one by one."""
    return tuple(unique) if isinstance(unique, Iterable) and not isinstance(unique, str) else (unique,)


def _comparable(column: object, rows: pa.Schema, op: str | None) -> str:
    """The column, if the result has it and a database can compare its values."""
    if not isinstance(column, str):
        raise SpecError(
            f"write_to: `unique` has {column!r}, a {type(column).__name__}, which is not the name of a column. "
            "Write unique='id', or unique=('shop', 'id')."
        )
    if column not in rows.names:
        near = difflib.get_close_matches(column, rows.names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Name one of these."
        raise SpecError(
            f"write_to: `unique` names the column {column!r}, and the result has {', '.join(rows.names)}. {hint}"
        )
    if column == op:
        raise SpecError(
            f"write_to: `unique` names the column {column!r}, which says what a row does and is no part of it. "
            "Name the columns that tell rows apart."
        )
    kind = rows.field(rows.names.index(column)).type
    try:
        check_key(column, kind)
    except InputError:
        raise SpecError(
            f"write_to: `unique` names the column {column!r}, which is {kind}, and a database cannot compare such "
            "values. Name another, or select a field of it as a column of its own."
        ) from None
    return column
