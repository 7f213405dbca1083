"""The statements that change a table: rows in, rows out by key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.sinks.database.connection import Connection
from fanlight.sinks.database.tables import Table


def named(connection: Connection, name: str) -> str:
    """A table's name, with its schema before a dot, quoted."""
    return ".".join(connection.quoted(piece) for piece in name.split("."))


def insert(connection: Connection, name: str, rows: pa.Table) -> None:
    """Add the rows."""
    if len(rows):
        columns = ", ".join(connection.quoted(column) for column in rows.column_names)
        marks = ", ".join("?" * rows.num_columns)
        connection.run(f"INSERT INTO {named(connection, name)} ({columns}) VALUES ({marks})", rows)


def remove(connection: Connection, table: Table, query: str, column: str, sign: str, bound: pa.Scalar) -> None:
    """Take away what a query added to a table on one side of a bound; null is on neither."""
    condition, marks = connection.equal(table.schema.field("query"))
    bounds = pa.table([*[[query]] * marks, pa.array([bound.as_py()], bound.type)], [*["query"] * marks, column])
    connection.run(
        f"DELETE FROM {named(connection, table.name)} WHERE {condition} AND {connection.quoted(column)} {sign} ?",
        bounds,
    )


def delete(connection: Connection, table: Table, gone: pa.Table) -> None:
    """Take away the rows with these keys. `= NULL` finds nothing, so keys go by which of their columns are null."""
    if not len(gone):
        return
    patterns, absent = _nulls(gone)
    for number, pattern in enumerate(absent):
        conditions, places = [], []
        for place, column in enumerate(gone.schema):
            if pattern[place]:
                conditions.append(f"{connection.quoted(column.name)} IS NULL")
            else:
                condition, marks = connection.equal(column)
                conditions.append(condition)
                places += [place] * marks
        rows = gone.filter(pa.array(patterns == number)).select(places)
        wanted = " AND ".join(conditions)
        connection.run(f"DELETE FROM {named(connection, table.name)} WHERE {wanted}", rows)


def by_key(connection: Connection, table: Table, *values: str) -> tuple[str, list[str]]:
    """What is true of the rows whose key consists of these texts, and what it is told in place of its `?`."""
    pairs = [connection.equal(table.schema.field(name)) for name in table.key]
    told = [value for value, (_, marks) in zip(values, pairs, strict=True) for _ in range(marks)]
    return " AND ".join(condition for condition, _ in pairs), told


def _nulls(keys: pa.Table) -> tuple[NDArray[np.int64], list[list[bool]]]:
    """Which columns of each key are null: the number of its pattern, and the patterns.

    Columns are taken in one by one, and patterns renumbered after each that has nulls; so any number of them will do.
    """
    numbers, patterns = np.zeros(len(keys), np.int64), np.zeros((1, 0), np.bool_)
    for column in keys.columns:
        if not column.null_count:
            patterns = np.column_stack([patterns, np.zeros(len(patterns), np.bool_)])
            continue
        nulls = column.is_null().to_numpy().astype(np.int64)
        present, numbers = np.unique(numbers * 2 + nulls, return_inverse=True)
        patterns = np.column_stack([patterns[present // 2], present % 2 == 1])
    return numbers, patterns.tolist()
