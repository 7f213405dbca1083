"""A result as flat tables of a database: one column a value, and the columns that tell rows apart."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.database.changes import TableChanges, changes
from fanlight.sinks.result_schema import ACCOUNTING, ResultShape


@dataclass(frozen=True)
class Table:
    """A table of a database: its columns, and those its rows are found by, if they are looked for at all."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...] = ()


def is_text(kind: pa.DataType) -> bool:
    """Whether a value is kept as text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def index_of(table: Table) -> str:
    """The name of the index that a table's rows are found by."""
    return f"{table.name.rpartition('.')[2]}_by_key"


def table_of(part: Part, name: str, shape: ResultShape) -> Table:
    """The table a part is kept in, and what tells its rows apart."""
    empty = Batch("", 0, shape.rows.empty_table(), shape.dead_letters.empty_table(), ACCOUNTING.empty_table())
    schema = _flat(part, empty, shape).schema
    if part is not Part.ROWS:
        return Table(name, schema, ("query", "batch"))
    _require_distinct(schema, name)
    return Table(name, schema, shape.key)


def changes_of(part: Part, batch: Batch, table: Table, shape: ResultShape) -> TableChanges:
    """What a batch does to the table of a part. Rows that nothing tells apart are added, and so are other parts."""
    rows = _flat(part, batch, shape)
    if part is not Part.ROWS or not shape.identity:
        return TableChanges(rows.select([]).slice(0, 0), rows)
    return changes(rows, shape.ops(batch.rows), table.key)


def _flat(part: Part, batch: Batch, shape: ResultShape) -> pa.Table:
    if part is Part.ROWS:
        return shape.flat(batch.rows)
    table = batch.part(part)
    named = {"query": pa.repeat(pa.scalar(batch.query, pa.string()), len(table))}
    if part is Part.DEAD_LETTERS:
        named["batch"] = pa.repeat(pa.scalar(batch.number, pa.int64()), len(table))
    return pa.table(named | dict(zip(table.column_names, table.columns, strict=True)))


def _require_distinct(schema: pa.Schema, table: str) -> None:
    """Refuse names that a database would take for one: `n` and `N`, or a key called `window_start`."""
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.casefold(), name)
        if schema.names.count(name) > 1 or other != name:
            raise SpecError(
                f"write_to: the columns {other!r} and {name!r} of table {table!r} have one name in a database. "
                "Give one of them another name."
            )
