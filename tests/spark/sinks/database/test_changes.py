"""A changelog becomes the table that its last firings are."""

from __future__ import annotations

import math

import pyarrow as pa

from fanlight.sinks.database.changes import changes

ROWS = pa.table(
    {
        "k": ["a", "b", "a", "a", None, None, "c", "c"],
        "n": [1, 2, 1, 3, 4, 5, 6, 6],
    }
)
OPS = pa.chunked_array([["+I", "+I", "-U", "+U", "+I", "+U", "+I", "-D"]])


def test_the_last_firing_of_a_key_is_what_stands() -> None:
    done = changes(ROWS, OPS, ("k",))
    assert done.rows.to_pylist() == [{"k": "b", "n": 2}, {"k": "a", "n": 3}, {"k": None, "n": 5}]


def test_every_key_that_fired_gives_up_its_old_row_also_the_deleted_one() -> None:
    assert changes(ROWS, OPS, ("k",)).gone["k"].to_pylist() == ["b", "a", None, "c"]


def test_a_retraction_that_nothing_follows_leaves_no_row() -> None:
    done = changes(ROWS.slice(0, 3), OPS.slice(0, 3), ("k",))
    assert done.rows.to_pylist() == [{"k": "b", "n": 2}]


def test_without_operations_every_row_is_an_insertion() -> None:
    assert changes(ROWS.slice(0, 2), None, ("k",)).rows.equals(ROWS.slice(0, 2))


def test_every_nan_is_one_key() -> None:
    rows = pa.table({"k": [math.nan, -math.nan, 0.0, -0.0], "n": [1, 2, 3, 4]})
    assert changes(rows, None, ("k",)).rows["n"].to_pylist() == [2, 4]


def test_no_firing_changes_nothing() -> None:
    done = changes(ROWS.slice(0, 0), OPS.slice(0, 0), ("k",))
    assert (len(done.gone), len(done.rows)) == (0, 0)
