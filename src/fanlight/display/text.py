"""Rows as text, in columns: what `show` prints."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

import pyarrow as pa

_WIDEST = 40
"""Of a value: what is longer is cut."""


def as_text(table: pa.Table, n: int) -> str:
    """The first `n` rows of a flat table, a line each under the names of the columns.

    >>> print(as_text(pa.table({"shop": ["a", "b"], "n": [3, None]}), 1))
    shop  n
    a     3
    first 1 of 2 rows
    """
    rows = [[value_text(value) for value in row.values()] for row in table.slice(0, n).to_pylist()]
    numbers = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in table.schema.types]
    widths = [
        max(_width(text) for text in (name, *(row[place] for row in rows)))
        for place, name in enumerate(table.schema.names)
    ]
    lines = [
        "  ".join(_filled(text, width, right=right) for text, width, right in zip(cells, widths, numbers, strict=True))
        for cells in ([*table.schema.names], *rows)
    ]
    return "\n".join([*(line.rstrip() for line in lines), counted(len(table), n)])


def counted(rows: int, n: int) -> str:
    """How many rows there are, and how many of them are shown.

    >>> counted(1, 20), counted(30, 20)
    ('1 row', 'first 20 of 30 rows')
    """
    if rows > n:
        return f"first {n} of {rows} rows"
    return "1 row" if rows == 1 else f"{rows} rows"


def value_text(value: Any) -> str:
    """One value as a person reads it: times without what is zero in them, nothing longer than a column.

    >>> from datetime import UTC, datetime
    >>> value_text(datetime(2026, 3, 1, 12, 5, tzinfo=UTC)), value_text(None), value_text(0.1 + 0.2)
    ('2026-03-01 12:05:00', 'null', '0.30000000000000004')
    """
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    text = str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _filled(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
