"""A result as flat tables of a database: one column a value, and the columns that tell rows apart."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import SpecError
from fanlight.spark.sinks.batch import Batch, Part
from fanlight.spark.sinks.changes import Changes, changes
from fanlight.spark.sinks.shape import ACCOUNTING, Shape

_PANE = ("timing", "index", "is_last")


@dataclass(frozen=True)
class Table:
    """A table of a database: its columns, and those its rows are found by; a result has one row for each `key`."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...] = ()


def index_of(table: Table) -> str:
    """The name of the index that a table's rows are found by."""
    return f"{table.name.rpartition('.')[2]}_by_key"


def table_of(part: Part, name: str, shape: Shape) -> Table:
    """The table a part is kept in. Results are named by keys and window, increments by the number of the firing too."""
    empty = Batch("", 0, shape.rows.empty_table(), shape.dead_letters.empty_table(), ACCOUNTING.empty_table())
    schema = _flat(part, empty, shape).schema
    if part is not Part.ROWS:
        return Table(name, schema, ("query", "batch"))
    _require_distinct(schema, name)
    increment = ("pane_index",) if shape.increments else ()
    return Table(name, schema, (*shape.keys, "window_start", "window_end", *increment))


def changes_of(part: Part, batch: Batch, table: Table, shape: Shape) -> Changes:
    """What a batch does to the table of a part."""
    rows = _flat(part, batch, shape)
    if part is not Part.ROWS:
        return Changes(rows.select([]).slice(0, 0), rows)
    ops = None if shape.fires_once else pc.struct_field(batch.rows["pane"], "op")
    return changes(rows, ops, table.key)


def _flat(part: Part, batch: Batch, shape: Shape) -> pa.Table:
    if part is Part.ROWS:
        return _flat_rows(batch.rows, shape)
    table = batch.part(part)
    named = {"query": pa.repeat(pa.scalar(batch.query, pa.string()), len(table))}
    if part is Part.DEAD_LETTERS:
        named["batch"] = pa.repeat(pa.scalar(batch.number, pa.int64()), len(table))
    return pa.table(named | dict(zip(table.column_names, table.columns, strict=True)))


def _flat_rows(rows: pa.Table, shape: Shape) -> pa.Table:
    names, columns = [], []
    for name in rows.column_names:
        fields: tuple[str, ...] = ()
        if name == "window":
            fields = ("start", "end")
        elif name == "pane":
            fields = (*_PANE, "time") if shape.stamped else _PANE
        names.extend([f"{name}_{field}" for field in fields] or [name])
        columns.extend([pc.struct_field(rows[name], field) for field in fields] or [rows[name]])
    return pa.table(columns, names=names)


def _require_distinct(schema: pa.Schema, table: str) -> None:
    """Refuse names that a database would take for one: `n` and `N`, or a key called `window_start`."""
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.casefold(), name)
        if schema.names.count(name) > 1 or other != name:
            raise SpecError(
                f"write_to: the columns {other!r} and {name!r} of table {table!r} have one name in a database. "
                "Give the key or the aggregate another name."
            )
