"""An SQLite table after any number of batches, repeats and failures."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark.sinks.orders import (
    BASE,
    BUNDLES,
    Declared,
    accumulated,
    asked,
    corrected,
    handed,
    increments,
    once,
    room_for,
    shape_of,
    standing,
    stepped,
)

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of


def sink_for(file: Path, declared: Declared, options: str = "", schema: pa.Schema | None = None) -> Sink:
    shape = shape_of(declared) if schema is None else shape_of(declared, schema)
    (sink,) = sinks_of(shape, f"sqlite:///{file}{options}", table="totals")
    return sink


def iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize("repeats", [1, 2])
def test_a_table_holds_the_last_firing_of_each_pane(tmp_path: Path, repeats: int) -> None:
    """Also when every batch comes twice: the second time it is skipped."""
    shape, file = shape_of(corrected), tmp_path / "t.db"
    fired = stepped(corrected, BUNDLES)
    for number, rows in enumerate(fired):
        for _ in range(repeats):
            sink_for(file, corrected).write(handed(shape, number, rows))
    expected = [
        (key, iso(start), iso(end), row["n"], None if row["revenue"] is None else str(row["revenue"]),
         json.dumps(row["values"], separators=(",", ":")), row["pane"]["timing"], row["pane"]["number"],
         int(row["pane"]["is_last"]))
        for (key, start, end), row in standing(pa.concat_tables(fired)).items()
    ]  # fmt: skip
    assert len(expected) > 10
    assert any(row[0] is None for row in expected)
    assert any(row[7] > 1 for row in expected)
    assert sorted(asked(file, "SELECT * FROM totals"), key=repr) == sorted(expected, key=repr)
    assert asked(file, "SELECT COUNT(*) FROM totals_accounting") == [(len(fired),)]
    assert asked(file, "SELECT DISTINCT query, batch FROM fanlight_batches") == [("q", len(fired) - 1)]


def test_without_keys_and_without_bounds_there_is_one_row(tmp_path: Path) -> None:
    shape, file = shape_of(accumulated), tmp_path / "t.db"
    for number, rows in enumerate(stepped(accumulated, BUNDLES)):
        sink_for(file, accumulated).write(handed(shape, number, rows))
    records = sum(len(bundle) for bundle in BUNDLES)
    assert asked(file, "SELECT window_start, window_end, n FROM totals") == [(None, None, records)]


def test_increments_are_kept_one_by_one_and_add_up(tmp_path: Path) -> None:
    shape, file = shape_of(increments), tmp_path / "t.db"
    fired = stepped(increments, BUNDLES)
    for number, rows in enumerate(fired):
        sink_for(file, increments).write(handed(shape, number, rows))
    expected = {key: row["n"] for key, row in standing(pa.concat_tables(fired), "number").items()}
    rows = asked(file, "SELECT k, window_start, window_end, pane_number, n FROM totals")
    assert sorted(rows, key=repr) == sorted(
        ((k, iso(start), iso(end), index, n) for (k, start, end, index), n in expected.items()), key=repr
    )
    assert any(row[3] > 0 for row in rows)


def test_a_pipeline_that_fires_once_has_no_columns_about_panes(tmp_path: Path) -> None:
    rows = pa.concat_tables(stepped(once, BUNDLES))
    sink_for(tmp_path / "t.db", once).write(handed(shape_of(once), 0, rows))
    columns = [row[1] for row in asked(tmp_path / "t.db", "PRAGMA table_info(totals)")]
    assert columns == ["k", "window_start", "window_end", "n", "revenue"]
    assert asked(tmp_path / "t.db", "SELECT COUNT(*) FROM totals") == [(len(rows),)]


def test_a_query_of_another_checkpoint_counts_its_own_batches(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    rows = stepped(corrected, BUNDLES)[0]
    for query in ("one", "two"):
        sink_for(file, corrected).write(handed(shape, 0, rows, query=query))
    assert asked(file, "SELECT query, COUNT(*) FROM totals_accounting GROUP BY 1") == [("one", 1), ("two", 1)]
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(len(standing(rows)),)]


EVERY = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "x": pa.float64(),
        "day": pa.date32(),
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "price": pa.decimal128(20, 9),
        "moment": pa.timestamp("us", "UTC"),
        "nested": pa.struct({"at": pa.timestamp("us", "UTC"), "price": pa.decimal128(4, 2)}),
    }
)


def every_type(_: Any) -> fl.Result:
    stream = fl.stream([], time="ts").key_by("x", "day", "flag", "raw", "price", "moment")
    return stream.window(fl.tumbling("1 s")).agg(n=fl.count(), all=fl.list("nested"))


def test_every_type_is_kept_exactly_and_found_again(tmp_path: Path) -> None:
    """Each key is written twice, the second time by another query: it must find its row, NaN and nulls too."""
    shape, file = shape_of(every_type, EVERY), tmp_path / "t.db"
    full = {
        "x": math.nan,
        "day": date(1, 1, 1),
        "flag": True,
        "raw": b"\x00\xff",
        "price": Decimal("0.000000001"),
        "moment": BASE + timedelta(microseconds=1),
        "window": {"start": BASE, "end": BASE + timedelta(seconds=1)},
        "n": 2**62,
        "all": [{"at": BASE, "price": Decimal("1.50")}, None],
    }
    rows = [full, full | {"x": None, "flag": None}, full | {"x": math.inf, "moment": None}, full | {"x": 0.1}]
    for query in ("one", "two"):
        table = pa.Table.from_pylist(rows, schema=shape.rows)
        sink_for(file, every_type, schema=EVERY).write(handed(shape, 0, table, query=query))
    kept = asked(file, 'SELECT x, day, flag, raw, price, moment, n, "all" FROM totals ORDER BY rowid')
    assert kept[0] == (
        "NaN", "0001-01-01", 1, b"\x00\xff", "0.000000001", "2026-01-01T00:00:00.000001Z", 2**62,
        '[{"at":"2026-01-01T00:00:00.000000Z","price":"1.50"},null]',
    )  # fmt: skip
    assert [row[:3] for row in kept[1:]] == [
        (None, "0001-01-01", None),
        (math.inf, "0001-01-01", 1),
        (0.1, "0001-01-01", 1),
    ]


def test_a_letter_of_a_firing_has_no_record(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    letter = {"reason": "value_out_of_range", "watermark": BASE, "detail": '{"key": {"k": "a"}}', "record": None}
    letters = pa.Table.from_pylist([letter], schema=shape.dead_letters)
    sink_for(file, corrected).write(handed(shape, 0, shape.rows.empty_table(), letters=letters))
    assert asked(file, "SELECT reason, detail, record FROM totals_dead_letters") == [
        ("value_out_of_range", letter["detail"], None)
    ]


def test_dead_letters_come_with_their_query_and_batch(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    record = {"ts": BASE, "k": "a", "v": 1, "price": Decimal("0.25")}
    letter = {"reason": "malformed", "watermark": BASE, "detail": '{"field": "v"}', "record": record}
    letters = pa.Table.from_pylist([letter], schema=shape.dead_letters)
    sink_for(file, corrected).write(handed(shape, 0, shape.rows.empty_table(), letters=letters))
    ((query, batch, reason, watermark, detail, text),) = asked(file, "SELECT * FROM totals_dead_letters")
    assert (query, batch, reason, watermark) == ("q", 0, "malformed", iso(BASE))
    assert detail == '{"field": "v"}'
    assert json.loads(text) == {"ts": iso(BASE), "k": "a", "v": 1, "price": "0.25"}


def test_a_locked_database_fails_the_batch_and_takes_it_later(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    first, second, *_ = stepped(corrected, BUNDLES)
    sink = sink_for(file, corrected, "?timeout=0.05")
    sink.write(handed(shape, 0, first))
    before = asked(file, "SELECT * FROM totals")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match=r"t\.db did not take batch 1: database is locked.* repeats the batch"):
            sink.write(handed(shape, 1, second))
    assert asked(file, "SELECT * FROM totals") == before
    sink.write(handed(shape, 1, second))
    assert asked(file, "SELECT MAX(batch) FROM fanlight_batches") == [(1,)]


def test_a_full_disk_fails_the_batch_whole_and_takes_it_when_there_is_room(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    sink = sink_for(file, corrected)
    rows = pa.concat_tables(stepped(corrected, BUNDLES))
    ops = pc.struct_field(rows["pane"], "op")
    large = rows.set_column(0, "k", pa.array(["k" * 100_000 + str(number) for number in range(len(rows))]))
    sink.write(handed(shape, 0, rows.slice(0, 3)))
    before = asked(file, "SELECT * FROM totals")
    with room_for(1 << 20), pytest.raises(SinkError, match=r"did not take batch 1: .*(disk I/O error|full)"):
        sink.write(handed(shape, 1, large))
    assert asked(file, "SELECT * FROM totals") == before
    sink.write(handed(shape, 1, large))
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(len(before) + pc.sum(pc.not_equal(ops, "-U")).as_py(),)]
    assert asked(file, "PRAGMA integrity_check") == [("ok",)]


def test_a_table_of_other_columns_is_left_alone(tmp_path: Path) -> None:
    shape, file = shape_of(corrected), tmp_path / "t.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE totals (mine INTEGER)")
    with pytest.raises(SinkError, match=r"did not take batch 0: .*a table of other columns"):
        sink_for(file, corrected).write(handed(shape, 0, stepped(corrected, BUNDLES)[0]))
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(0,)]
    assert asked(file, "SELECT COUNT(*) FROM totals_accounting") == [(0,)]


def test_keys_of_more_than_64_columns_are_found_again_nulls_too(tmp_path: Path) -> None:
    """Each of 70 columns is null in one row: which ones are does not fit a whole number."""
    names = [f"k{number}" for number in range(70)]
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), **dict.fromkeys(names, pa.string())})
    declared = fl.stream([], time="ts").key_by(*names).window(fl.tumbling("1 s")).agg(n=fl.count())
    shape = shape_of(lambda _: declared, schema)
    full = {**dict.fromkeys(names, "v"), "window": {"start": BASE, "end": BASE + timedelta(seconds=1)}, "n": 1}
    rows = [full, *(full | {name: None} for name in names)]
    (sink,) = sinks_of(shape, f"sqlite:///{tmp_path}/t.db", table="totals")
    for query in ("one", "two"):
        sink.write(handed(shape, 0, pa.Table.from_pylist(rows, schema=shape.rows), query=query))
    assert asked(tmp_path / "t.db", "SELECT COUNT(*) FROM totals") == [(71,)]


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_a_table_that_compares_loosely_is_refused_at_the_start(tmp_path: Path, collation: str) -> None:
    shape, file = shape_of(once), tmp_path / "t.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"CREATE TABLE totals (k TEXT COLLATE {collation}, window_start, window_end, n, revenue)")
    with pytest.raises(SinkError, match=r"table totals: column 'k' .* compares loosely: 'tea' = .*without a COLLATE"):
        sink_for(file, once).check(handed(shape, 0, shape.rows.empty_table()))
    assert asked(file, "SELECT name FROM sqlite_master") == [("totals",)]


def test_what_a_table_refuses_is_named_or_goes_to_the_dead_letters(tmp_path: Path) -> None:
    """The user's table has a check that one row breaks, which held up all others."""
    shape, file = shape_of(once), tmp_path / "t.db"
    rows = pa.concat_tables(stepped(once, BUNDLES))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE totals (k TEXT CHECK (k <> 'c'), window_start, window_end, n, revenue)")
    broken = pc.sum(pc.equal(rows["k"], "c")).as_py()
    assert broken == 2
    with pytest.raises(
        SinkError, match=r"refuses the row with k = 'c', .* its column 'k' .*CHECK.* 1 more of its rows"
    ):
        sink_for(file, once).write(handed(shape, 0, rows))
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(0,)]
    (sink,) = sinks_of(shape, f"sqlite:///{file}", table="totals", refused="letters")
    sink.write(handed(shape, 0, rows))
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(len(rows) - broken,)]
    letters = asked(file, "SELECT reason, detail, record FROM totals_dead_letters")
    assert {reason for reason, _, _ in letters} == {"refused"}
    assert [json.loads(record)["k"] for _, _, record in letters] == ["c", "c"]
    assert {json.loads(detail)["column"] for _, detail, _ in letters} == {"k"}
