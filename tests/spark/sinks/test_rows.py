"""A result without window and pane: its rows are added, or upserted by the columns that a user calls unique."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.sinks.batch import Batch, Part
from fanlight.sinks.delivery import DeliveryHere
from fanlight.sinks.jsonl import JsonLinesSink
from fanlight.sinks.parquet import ParquetSink
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of

from .orders import asked, corrected, shape_of
from .orders_as_rows import CHANGES, LETTERS, ORDERS, ROWS, Order, offered


def sink_for(file: Path, shape: ResultShape = ROWS, **options: Any) -> Sink:
    (sink,) = sinks_of(shape, f"sqlite:///{file}", table="orders", **options)
    return sink


def write(sink: Sink, shape: ResultShape, *batches: list[Order]) -> None:
    """The batches 0, 1, 2 … of one query; the first is shown to the sink before, as at a start."""
    for number, orders in enumerate(batches):
        if number == 0:
            sink.check(offered(shape, number, *orders))
        sink.write(offered(shape, number, *orders))


def orders_in(file: Path) -> list[Order]:
    return asked(file, "SELECT shop, id, price FROM orders ORDER BY rowid")


class TestAdded:
    """Without `unique`, rows are added in the order they came."""

    def test_a_table_has_every_row_and_the_columns_of_the_result(self, tmp_path: Path) -> None:
        """The second batch repeats an order: it is another row."""
        file = tmp_path / "t.db"
        write(sink_for(file), ROWS, [("a", 1, 0.5), ("b", 1, 1.5)], [("a", 1, 0.5)])
        assert orders_in(file) == [("a", 1, 0.5), ("b", 1, 1.5), ("a", 1, 0.5)]
        assert [row[1] for row in asked(file, "PRAGMA table_info(orders)")] == ["shop", "id", "price", "tags"]
        assert asked(file, "SELECT DISTINCT tags FROM orders") == [('["new"]',)]

    def test_rows_that_are_never_looked_for_need_no_index(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file), ROWS, [("a", 1, 0.5)])
        indexes = asked(file, "SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'orders'")
        assert indexes == []

    def test_a_repeated_batch_is_not_added_twice(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file), ROWS, [("a", 1, 0.5)], [("b", 2, 1.5)])
        sink_for(file).write(offered(ROWS, 1, ("b", 2, 1.5)))
        assert orders_in(file) == [("a", 1, 0.5), ("b", 2, 1.5)]

    def test_a_batch_that_does_not_follow_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file), ROWS, [("a", 1, 0.5)])
        with pytest.raises(SinkError, match="batch 1 would be missing here"):
            sink_for(file).write(offered(ROWS, 2, ("b", 2, 1.5)))
        assert orders_in(file) == [("a", 1, 0.5)]

    def test_what_comes_a_second_time_on_purpose_is_there_twice(self, tmp_path: Path) -> None:
        """Nothing in a plain row says which batch it came with, so nothing can make way for it."""
        file = tmp_path / "t.db"
        write(sink_for(file), ROWS, [("a", 1, 0.5)], [("b", 2, 1.5)])
        sink_for(file).write(offered(ROWS, 0, ("a", 1, 0.5), accepts=True))
        assert orders_in(file) == [("a", 1, 0.5), ("b", 2, 1.5), ("a", 1, 0.5)]
        assert asked(file, "SELECT batch FROM orders_accounting") == [(0,)]

    def test_changes_are_added_with_what_they_do(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, CHANGES), CHANGES, [("a", 1, 0.5, "+I")], [("a", 1, 0.5, "-U"), ("a", 1, 2.0, "+U")])
        assert asked(file, "SELECT op, price FROM orders ORDER BY rowid") == [("+I", 0.5), ("-U", 0.5), ("+U", 2.0)]

    def test_a_column_called_window_is_one_like_any_other(self, tmp_path: Path) -> None:
        """Only a windowed aggregate's window has a start and an end that a table shows apart."""
        shape = ResultShape.of_rows(pa.schema({"window": pa.struct({"w": pa.int64()}), "pane": pa.string()}), LETTERS)
        (sink,) = sinks_of(shape, f"sqlite:///{tmp_path}/t.db", table="houses")
        rows = pa.Table.from_pylist([{"window": {"w": 3}, "pane": "glass"}], schema=shape.rows)
        batch = offered(ROWS, 0).batch
        sink.write(DeliveryHere(Batch("q", 0, rows, batch.dead_letters, batch.accounting), shape))
        assert asked(tmp_path / "t.db", "SELECT * FROM houses") == [('{"w":3}', "glass")]

    def test_a_refused_row_is_told_by_its_first_columns(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE orders (shop TEXT, id INTEGER, price REAL CHECK (price > 0), tags TEXT)")
        with pytest.raises(
            SinkError, match=r"refuses the row with shop = 'b', id = 2, price = -1.0.* its column 'price'"
        ):
            write(sink_for(file), ROWS, [("a", 1, 0.5), ("b", 2, -1.0)])
        write(sink_for(file, refused="letters"), ROWS, [("a", 1, 0.5), ("b", 2, -1.0)])
        assert orders_in(file) == [("a", 1, 0.5)]
        ((record,),) = asked(file, "SELECT record FROM orders_dead_letters")
        assert json.loads(record) == {"shop": "b", "id": 2, "price": -1.0, "tags": ["new"]}


class TestUpserted:
    """With `unique`, a later row takes the place of the earlier one that has the same values in these columns."""

    def test_a_later_batch_replaces_and_others_stay(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, unique="id"), ROWS, [("a", 1, 0.5), ("b", 2, 1.5)], [("c", 1, 9.0)])
        assert orders_in(file) == [("b", 2, 1.5), ("c", 1, 9.0)]

    def test_within_a_batch_the_last_in_order_wins(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, unique=("id",)), ROWS, [("a", 1, 0.5), ("b", 2, 1.5), ("c", 1, 9.0), ("d", 1, 3.0)])
        assert orders_in(file) == [("b", 2, 1.5), ("d", 1, 3.0)]

    def test_several_columns_are_unique_together(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, unique=["shop", "id"]), ROWS, [("a", 1, 0.5), ("b", 1, 1.5)], [("a", 1, 9.0)])
        assert orders_in(file) == [("b", 1, 1.5), ("a", 1, 9.0)]

    def test_null_is_a_value_of_its_own(self, tmp_path: Path) -> None:
        """`= NULL` finds nothing in a database, and a primary key would refuse it; here null replaces null."""
        file = tmp_path / "t.db"
        first: list[Order] = [("a", None, 0.5), (None, None, 1.5), (None, 1, 2.5)]
        write(sink_for(file, unique=("shop", "id")), ROWS, first, [(None, None, 7.0), ("a", None, 8.0)])
        assert orders_in(file) == [(None, 1, 2.5), (None, None, 7.0), ("a", None, 8.0)]

    def test_a_repeated_batch_changes_nothing(self, tmp_path: Path) -> None:
        """It is skipped, not written again: the row that it would put back was replaced by hand meanwhile."""
        file = tmp_path / "t.db"
        write(sink_for(file, unique="id"), ROWS, [("a", 1, 0.5)])
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("UPDATE orders SET price = 4")
            connection.commit()
        sink_for(file, unique="id").write(offered(ROWS, 0, ("a", 1, 0.5)))
        assert orders_in(file) == [("a", 1, 4.0)]

    def test_what_comes_a_second_time_on_purpose_is_there_once(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, unique="id"), ROWS, [("a", 1, 0.5)], [("b", 2, 1.5)])
        sink_for(file, unique="id").write(offered(ROWS, 0, ("a", 1, 0.5), accepts=True))
        assert sorted(orders_in(file)) == [("a", 1, 0.5), ("b", 2, 1.5)]

    def test_another_query_replaces_the_same_rows(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        for query, price in (("one", 1.0), ("two", 2.0)):
            sink_for(file, unique="id").write(offered(ROWS, 0, ("a", 1, price), query=query))
        assert orders_in(file) == [("a", 1, 2.0)]

    def test_operations_act_by_the_unique_columns_and_are_not_kept(self, tmp_path: Path) -> None:
        """1 is updated, 2 is deleted, 3 is inserted and deleted in one batch, 4 becomes 5: its old row goes by `-U`."""
        file = tmp_path / "t.db"
        first = [("a", 1, 0.5, "+I"), ("b", 2, 1.5, "+I"), ("d", 4, 4.0, "+I")]
        then = [
            ("a", 1, 0.5, "-U"), ("a", 1, 2.0, "+U"), ("b", 2, 1.5, "-D"), ("c", 3, 3.0, "+I"), ("c", 3, 3.0, "-D"),
            ("d", 4, 4.0, "-U"), ("d", 5, 4.0, "+U"),
        ]  # fmt: skip
        write(sink_for(file, CHANGES, unique="id"), CHANGES, first, then)
        assert orders_in(file) == [("a", 1, 2.0), ("d", 5, 4.0)]
        assert [row[1] for row in asked(file, "PRAGMA table_info(orders)")] == ["shop", "id", "price", "tags"]

    def test_a_primary_key_of_the_users_may_guard_the_same_columns(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE orders (shop TEXT, id INTEGER PRIMARY KEY, price REAL, tags TEXT)")
        write(sink_for(file, unique="id"), ROWS, [("a", 1, 0.5), ("b", 1, 1.5)], [("c", 1, 9.0)])
        assert orders_in(file) == [("c", 1, 9.0)]

    def test_unique_text_that_a_table_compares_loosely_is_refused_at_the_start(self, tmp_path: Path) -> None:
        """`tea` would replace `TEA`. Where nothing is replaced, the same table is as good as any."""
        file = tmp_path / "t.db"
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE orders (shop TEXT COLLATE NOCASE, id INTEGER, price REAL, tags TEXT)")
        with pytest.raises(SinkError, match=r"column 'shop' tells rows apart and compares loosely: 'tea' = 'TEA'"):
            write(sink_for(file, unique="shop"), ROWS, [("tea", 1, 0.5)])
        write(sink_for(file), ROWS, [("tea", 1, 0.5), ("TEA", 2, 1.5)])
        assert len(orders_in(file)) == 2

    def test_dead_letters_and_accounting_are_added_as_ever(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        write(sink_for(file, unique="id"), ROWS, [("a", 1, 0.5)], [("a", 1, 0.5)])
        assert asked(file, "SELECT batch FROM orders_accounting ORDER BY batch") == [(0,), (1,)]
        assert asked(file, "SELECT COUNT(*) FROM orders_dead_letters") == [(0,)]


class TestFiles:
    """A file or a folder only grows: it has the rows as they came, changes too."""

    def test_json_lines(self, tmp_path: Path) -> None:
        sink = JsonLinesSink(str(tmp_path / "t.jsonl"), Part.ROWS)
        write(sink, CHANGES, [("a", 1, 0.5, "+I")], [("a", 1, 0.5, "-D")])
        sink.write(offered(CHANGES, 1, ("a", 1, 0.5, "-D")))
        lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert [(line["id"], line["op"]) for line in lines] == [(1, "+I"), (1, "-D")]
        assert list(lines[0]) == ["shop", "id", "price", "tags", "op"]

    def test_a_folder(self, tmp_path: Path) -> None:
        sink = ParquetSink(str(tmp_path / "t"), Part.ROWS)
        write(sink, ROWS, [("a", 1, 0.5)], [("a", 1, 0.5), ("b", 2, 1.5)])
        sink.write(offered(ROWS, 1, ("c", 3, 0.0)))
        table = pq.read_table(tmp_path / "t")
        assert table.column_names == [*ORDERS.names, "batch"]
        assert sorted(zip(table["id"].to_pylist(), table["batch"].cast(pa.int64()).to_pylist(), strict=True)) == [
            (1, 0),
            (1, 1),
            (2, 1),
        ]


def test_a_function_is_handed_the_rows_as_they_are() -> None:
    seen: list[Any] = []
    (sink,) = sinks_of(CHANGES, lambda rows, batch: seen.append((batch.number, rows.to_pylist(), batch.rows is rows)))
    write(sink, CHANGES, [("a", 1, 0.5, "+I")], [])
    order = {"shop": "a", "id": 1, "price": 0.5, "tags": ["new"], "op": "+I"}
    assert seen == [(0, [order], True), (1, [], True)]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("unique", "said"),
        [
            ("idd", r"names the column 'idd', and the result has shop, id, price, tags, op\. Did you mean 'id'"),
            (("id", "colour"), r"names the column 'colour', and the result has .*Name one of these"),
            ((), r"`unique` names no column\. Name one, or leave it out"),
            (("id", "id"), "names the column 'id' twice"),
            (3, r"`unique` has 3, a int, which is not the name of a column\. Write unique='id'"),
            (["id", None], "`unique` has None, a NoneType"),
            ("tags", r"names the column 'tags', which is list<.*>, and a database cannot compare such values"),
            ("op", "names the column 'op', which says what a row does"),
        ],
    )  # fmt: skip
    def test_columns_that_cannot_tell_rows_apart(self, unique: Any, said: str) -> None:
        with pytest.raises(fl.SpecError, match=said):
            sinks_of(CHANGES, "sqlite:///t.db", table="t", unique=unique)

    @pytest.mark.parametrize("target", ["orders/", "orders.parquet", "orders.jsonl", print])
    def test_places_that_only_grow(self, target: Any) -> None:
        with pytest.raises(
            fl.SpecError,
            match=r"`unique` \(shop, id\) .*only databases do, and .*(orders|print).* takes every row as it comes\. "
            r"Use a database.*keep the last row of each \(shop, id\)",
        ):
            sinks_of(ROWS, target, unique=("shop", "id"), dead_letters="sqlite:///late.db")

    def test_a_windowed_aggregate(self) -> None:
        with pytest.raises(
            fl.SpecError,
            match=r"`unique` \(k\) tells rows apart, .* known by key and window already: k, window_start, window_end\.",
        ):
            sinks_of(shape_of(corrected), "sqlite:///t.db", table="t", unique="k")

    def test_columns_that_a_place_needs_itself_or_takes_for_one(self) -> None:
        twins = ResultShape.of_rows(pa.schema({"id": pa.int64(), "ID": pa.int64(), "batch": pa.int64()}), LETTERS)
        with pytest.raises(fl.SpecError, match=r"'id' and 'ID' of table 't' have one name.*Give one of them another"):
            sinks_of(twins, "sqlite:///t.db", table="t")
        with pytest.raises(fl.SpecError, match="a result column is called 'batch'"):
            sinks_of(twins, "orders/")
