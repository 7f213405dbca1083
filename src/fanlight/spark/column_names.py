"""Columns of a DataFrame by their literal names: Spark would read `a.b` as a field of `a`, and `*` as all columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions

from fanlight.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def quoted(name: str) -> str:
    """A name, quoted so that Spark takes it for one column.

    >>> print(quoted("a.b"), quoted("a`b"))
    `a.b` `a``b`
    """
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def is_plain(names: Sequence[str]) -> bool:
    """Whether Spark takes each of these names, unquoted, for exactly the column of that name.

    >>> is_plain(["a", "b"]), is_plain(["a.b"]), is_plain(["a", "A"])
    (True, False, False)
    """
    return all(re.fullmatch(r"\w+", name) for name in names) and len({name.lower() for name in names}) == len(names)


def by_place(frame: DataFrame) -> DataFrame:
    """The frame with its columns renamed by place: `_0`, `_1` and so on."""
    return frame.toDF(*(f"_{place}" for place in range(len(frame.columns))))


def with_column(frame: DataFrame, name: str, of: Sequence[str], made: Callable[..., Column]) -> DataFrame:
    """The frame with a column of this name, `made` from the columns `of`; if it has one already, in its place."""
    names = frame.columns
    if is_plain(names):
        return frame.withColumn(name, made(*map(functions.col, of)))
    column = made(*(functions.col(f"_{names.index(one)}") for one in of))
    if name in names:
        return by_place(frame).withColumn(f"_{names.index(name)}", column).toDF(*names)
    return by_place(frame).withColumn(name, column).toDF(*names, name)


def require_apart(names: Sequence[str], *, minds_case: bool) -> None:
    """Refuse result columns whose names are the same to Spark."""
    if minds_case:
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SpecError(
                f"agg: the result columns {other!r} and {name!r} differ in case only, and Spark takes them for one. "
                "Rename one of them, or set spark.sql.caseSensitive = true before the pipeline is declared."
            )
