"""A column that rows are ordered by, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrderBy:
    """A column that orders rows, ascending or descending; null is last either way."""

    column: str
    descending: bool = False


def desc(column: str) -> OrderBy:
    """Order rows by this column, the greatest first.

    >>> desc("price")
    OrderBy(column='price', descending=True)
    """
    return OrderBy(column, descending=True)


def asc(column: str) -> OrderBy:
    """Order rows by this column, the least first: where nothing else is said it is the greatest, as in `top`.

    >>> asc("price")
    OrderBy(column='price', descending=False)
    """
    return OrderBy(column)
