"""Flat tables: a column for each field of a struct, `window_start` for the `start` of `window`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def flat(table: pa.Table) -> pa.Table:
    """The table with every struct column as one column for each of its fields, called `column_field`.

    A struct in a struct is opened too. Lists stay as they are. A name that another column has already gets an
    underscore more.

    >>> nested = pa.table({"n": [1], "window": [{"start": 0, "end": 10}]})
    >>> flat(nested).to_pydict()
    {'n': [1], 'window_start': [0], 'window_end': [10]}
    """
    taken = {name for name, kind in zip(table.schema.names, table.schema.types, strict=True) if not _is_struct(kind)}
    names: list[str] = []
    columns: list[pa.ChunkedArray] = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        for path, values in _opened(name, column):
            free = path
            while path != name and free in taken:
                free += "_"
            taken.add(free)
            names.append(free)
            columns.append(values)
    return pa.table(columns, names=names)


def _is_struct(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and kind.num_fields > 0


def _opened(name: str, column: pa.ChunkedArray) -> list[tuple[str, pa.ChunkedArray]]:
    """A column, or those of its fields."""
    if not _is_struct(column.type):
        return [(name, column)]
    fields = [(f"{name}_{field.name}", pc.struct_field(column, [place])) for place, field in enumerate(column.type)]
    return [opened for path, values in fields for opened in _opened(path, values)]
