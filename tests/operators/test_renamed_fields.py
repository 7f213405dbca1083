"""What a snapshot from before has waiting leaves under the names of now."""

from __future__ import annotations

import pyarrow as pa

from fanlight.operators.renamed_fields import with_names_of_now

NAMES = ("op", "timing", "index", "revision", "is_last", "time", "clock")


def test_values_and_nulls_stay_where_they_are() -> None:
    panes = pa.array([dict.fromkeys(NAMES, place) for place in range(4)] + [None])
    rows = pa.record_batch({"n": range(5), "pane": panes}).slice(1)
    now = with_names_of_now(rows)
    assert [pane and pane["number"] for pane in now.column("pane").to_pylist()] == [1, 2, 3, None]
    assert now.column("n").to_pylist() == [1, 2, 3, 4]
    assert [field.name for field in now.schema.field("pane").type] == [
        "number" if name == "index" else name for name in NAMES
    ]


def test_rows_of_others_stay_as_they_are() -> None:
    for rows in (
        pa.record_batch({"pane": pa.array([{"index": 1}])}),
        pa.record_batch({"pane": ["glass"]}),
        pa.record_batch({"n": [1]}),
        with_names_of_now(pa.record_batch({"pane": pa.array([dict.fromkeys(NAMES, 1)])})),
    ):
        assert with_names_of_now(rows) is rows
