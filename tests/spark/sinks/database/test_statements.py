"""The statements that change a table, on an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.sinks.orders import asked
from tests.spark.sinks.orders_as_rows import ROWS, offered

from fanlight.sinks.database.connection import Connection
from fanlight.sinks.database.sqlite import SqliteDatabase
from fanlight.sinks.database.statements import by_key, delete, insert, named, remove
from fanlight.sinks.database.tables import Table

TABLE = Table("pairs", pa.schema({"a": pa.string(), "b": pa.int64(), "n": pa.int64()}), ("a", "b"))
HELD = [("x", 1, 10), ("x", None, 20), (None, 1, 30), (None, None, 40), ("y", 1, 50)]


def pairs(*rows: tuple[str | None, int | None, int | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("abn", row, strict=True)) for row in rows], schema=TABLE.schema)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def connection(file: Path) -> Iterator[Connection]:
    with SqliteDatabase(str(file)).connected(offered(ROWS, 0)) as connection:
        connection.ensure(TABLE)
        insert(connection, TABLE.name, pairs(*HELD))
        yield connection


def left(file: Path) -> list[int]:
    return [n for (n,) in asked(file, "SELECT n FROM pairs ORDER BY n")]


@pytest.mark.parametrize(
    ("gone", "stay"),
    [
        ([("x", 1)], [20, 30, 40, 50]),
        ([("x", None)], [10, 30, 40, 50]),
        ([(None, None)], [10, 20, 30, 50]),
        ([(None, 1), ("x", None), ("y", 1)], [10, 40]),
        ([("z", 1), (None, 2)], [10, 20, 30, 40, 50]),
        ([], [10, 20, 30, 40, 50]),
    ],
)
def test_a_key_takes_away_its_own_row_nulls_too(
    connection: Connection, file: Path, gone: list[tuple[str | None, int | None]], stay: list[int]
) -> None:
    """`= NULL` is true of nothing, so each pattern of nulls has a statement of its own."""
    delete(connection, TABLE, pairs(*((a, b, None) for a, b in gone)).select(["a", "b"]))
    assert left(file) == stay


def test_no_rows_are_no_statement(connection: Connection, file: Path) -> None:
    insert(connection, "no such table", pairs())
    assert left(file) == [10, 20, 30, 40, 50]


def test_what_a_query_added_on_one_side_of_a_bound_goes_and_null_is_on_neither(file: Path) -> None:
    letters = Table("late", pa.schema({"query": pa.string(), "batch": pa.int64()}), ("query", "batch"))
    rows = pa.table({"query": ["q", "q", "q", "other"], "batch": [1, 2, None, 2]}, schema=letters.schema)
    with SqliteDatabase(str(file)).connected(offered(ROWS, 0)) as connection:
        connection.ensure(letters)
        insert(connection, "late", rows)
        remove(connection, letters, "q", "batch", ">=", pa.scalar(2, pa.int64()))
    assert asked(file, "SELECT query, batch FROM late ORDER BY rowid") == [("q", 1), ("q", None), ("other", 2)]


def test_names_are_quoted_piece_by_piece(connection: Connection) -> None:
    assert named(connection, "main.to`tals") == "`main`.`to``tals`"
    assert by_key(connection, TABLE, "x", "1") == ("`a` = ? AND `b` = ?", ["x", "1"])


def test_a_name_that_is_no_column_is_an_error_and_never_text(connection: Connection) -> None:
    """In double quotes SQLite would answer with the name itself: so it did where a bit of the schema was flipped."""
    with pytest.raises(sqlite3.OperationalError, match="no such column: gone"):
        connection.number(f"SELECT MAX({connection.quoted('gone')}) FROM sqlite_master")
