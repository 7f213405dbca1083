"""What a result is to its sinks: its columns in a table, what tells rows apart, and what they do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.recent import RecentSpec
from fanlight.operators.bind import bind
from fanlight.sinks.result_schema import ResultShape

from .orders import Declared, accumulated, corrected, increments, once, shape_of
from .orders_as_rows import CHANGES, LETTERS, ORDERS, ROWS, offered

PANE = ("pane_timing", "pane_number", "pane_is_last")


def stamped(source: Any) -> fl.Result:
    """Fires more than once, each time with the time of its newest record."""
    windowed = fl.stream(source, time="ts", delay="0 s").key_by("k").window(fl.tumbling("10 s"), lateness="1 minute")
    return windowed.stamped("latest").agg(n=fl.count())


@pytest.mark.parametrize(
    ("declared", "key", "columns", "op"),
    [
        (once, ("k",), ("n", "revenue"), None),
        (corrected, ("k",), ("n", "revenue", "values", *PANE), ("pane", "op")),
        (accumulated, (), ("n", "top", *PANE), ("pane", "op")),
        (stamped, ("k",), ("n", *PANE, "pane_time"), ("pane", "op")),
    ],
)
def test_a_windowed_aggregate_is_known_by_key_and_window(
    declared: Declared, key: tuple[str, ...], columns: tuple[str, ...], op: Any
) -> None:
    shape = shape_of(declared)
    window = ("window_start", "window_end")
    assert shape.key == (*key, *window)
    assert tuple(shape.flat(shape.rows.empty_table()).column_names) == (*key, *window, *columns)
    assert shape.op == op


def test_of_increments_none_replaces_another() -> None:
    assert shape_of(increments).key == ("k", "window_start", "window_end", "pane_number")


def test_rows_are_their_columns_and_nothing_tells_them_apart() -> None:
    assert (ROWS.key, ROWS.op) == ((), None)
    assert ROWS.flat(ORDERS.empty_table()).schema == ORDERS
    assert ROWS.ops(ORDERS.empty_table()) is None


def test_rows_that_are_kept_up_to_date_are_changes() -> None:
    """The operation is no part of a table in which a later row takes the place of the earlier one."""

    def declared(source: Any) -> Any:
        rows = fl.stream(source, time="ts", delay="0 s").key_by("k").over(fl.range("1 minute")).add(n=fl.count())
        return rows.retracting(retention="1 hour")

    shape = shape_of(declared, pa.schema({"ts": pa.timestamp("us"), "k": pa.string()}))
    assert (shape.key, shape.op) == ((), ("op",))
    table = shape.upserted_by("k")
    assert table.flat(table.rows.empty_table()).column_names == ["ts", "k", "n"]


def test_changes_say_what_they_do_in_a_column_of_their_own() -> None:
    rows = offered(CHANGES, 0, ("a", 1, 0.5, "+I"), ("a", 1, 0.5, "-D")).batch.rows
    ops = CHANGES.ops(rows)
    assert ops is not None
    assert ops.to_pylist() == ["+I", "-D"]
    assert CHANGES.flat(rows).column_names == [*ORDERS.names, "op"]


def test_where_rows_are_upserted_a_table_has_no_column_of_what_they_did() -> None:
    shape = CHANGES.upserted_by(name for name in ("shop", "id"))
    assert shape.key == ("shop", "id")
    assert shape.flat(shape.rows.empty_table()).column_names == ORDERS.names
    assert shape.op == ("op",)


def test_one_name_is_one_column_and_not_its_letters() -> None:
    letters = ResultShape.of_rows(pa.schema({"i": pa.int64(), "d": pa.int64(), "id": pa.int64()}), LETTERS)
    assert letters.upserted_by("id").key == ("id",)


def test_what_is_unique_once_is_not_said_again() -> None:
    with pytest.raises(fl.SpecError, match=r"`unique` \(shop\) tells rows apart"):
        ROWS.upserted_by("id").upserted_by("shop")


@pytest.mark.parametrize(
    ("spec", "op"),
    [
        (RecentSpec("ts", (), fl.Duration(1)), ("op",)),
        (NormalizeSpec("ts", ("id",), Changes("did", ("id",), (("c", "+I"),))), ("did",)),
        (fl.SortSpec("ts", changes=Changes("did", ("id",))), None),
    ],
)
def test_rows_that_change_others_say_in_which_column(spec: Any, op: Any) -> None:
    """Of changes that are sorted the rows are left, and these do nothing to each other."""
    schema = pa.schema({"ts": pa.int64(), "id": pa.int64(), "did": pa.string()})
    assert ResultShape.of(spec, bind(spec, schema), LETTERS).op == op
