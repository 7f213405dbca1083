"""Rows that a snapshot from before has kept, under the names that they have now."""

from __future__ import annotations

import pyarrow as pa

_BEFORE = ("op", "timing", "index", "revision", "is_last", "time", "clock")
"""The fields of `pane` as they were, in order. `index` is called `number` now: on a Row of Spark it was a method."""
_NOW = tuple("number" if name == "index" else name for name in _BEFORE)


def with_names_of_now(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Firings with the fields of `pane` as they are called now; other rows as they are.

    >>> pane = pa.array([dict.fromkeys(_BEFORE, 3)])
    >>> with_names_of_now(pa.record_batch({"n": [7], "pane": pane})).column("pane")[0]["number"].as_py()
    3
    """
    place = rows.schema.get_field_index("pane")
    kind = rows.schema.field(place).type if place >= 0 else pa.null()
    if not pa.types.is_struct(kind) or tuple(field.name for field in kind) != _BEFORE:
        return rows
    pane = rows.column(place)
    fields = [field.with_name(name) for field, name in zip(kind, _NOW, strict=True)]
    values = [pane.field(number) for number in range(len(fields))]
    renamed = pa.StructArray.from_arrays(values, fields=fields, mask=pane.is_null())
    return rows.set_column(place, rows.schema.field(place).with_type(renamed.type), renamed)
