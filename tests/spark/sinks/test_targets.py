"""What a user writes, and the sinks that come of it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fanlight as fl
from fanlight.sinks.batch import Part
from fanlight.sinks.targets import sinks_of as sinks_anywhere
from fanlight.spark.jdbc.connection import JdbcDatabase

from .orders import SCHEMA, corrected, shape_of

SHAPE = shape_of(corrected)


sinks_of = partial(sinks_anywhere, jdbc=JdbcDatabase)


def take(rows: Any, batch: Any) -> None:
    """A function a user might hand in."""


def placed(target: Any, **options: Any) -> dict[Part, str]:
    return {part: place for sink in sinks_of(SHAPE, target, **options) for part, place in sink.places.items()}


def test_a_database_takes_all_three_in_one_transaction(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    (sink,) = sinks_of(SHAPE, f"sqlite:///{file}", table="totals")
    assert sink.places == {
        Part.ROWS: f"sqlite:///{file}, table totals",
        Part.DEAD_LETTERS: f"sqlite:///{file}, table totals_dead_letters",
        Part.ACCOUNTING: f"sqlite:///{file}, table totals_accounting",
    }


def test_a_relative_file_means_the_same_wherever_the_query_runs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert placed("sqlite:///t.db", table="x")[Part.ROWS] == f"sqlite:///{tmp_path}/t.db, table x"
    assert placed("out/t.jsonl")[Part.ROWS] == f"{tmp_path}/out/t.jsonl"


@pytest.mark.parametrize(
    ("target", "rows", "letters"),
    [
        ("/o/totals/", "/o/totals", "/o/totals_dead_letters"),
        ("/o/totals.parquet", "/o/totals.parquet", "/o/totals_dead_letters.parquet"),
        (Path("/o/totals.parquet"), "/o/totals.parquet", "/o/totals_dead_letters.parquet"),
        ("s3a://bucket/totals/", "s3a://bucket/totals", "s3a://bucket/totals_dead_letters"),
        ("/o/totals.jsonl", "/o/totals.jsonl", "/o/totals_dead_letters.jsonl"),
    ],
)
def test_dead_letters_go_beside_files(target: Any, rows: str, letters: str) -> None:
    found = placed(target)
    assert (found[Part.ROWS], found[Part.DEAD_LETTERS]) == (rows, letters)
    assert found[Part.ACCOUNTING] == letters.replace("dead_letters", "accounting")


def test_each_part_may_go_to_a_kind_of_its_own_and_functions_come_last() -> None:
    sinks = sinks_of(SHAPE, take, dead_letters="/o/late.jsonl", accounting="sqlite:////o/a.db")
    assert [type(sink).__name__ for sink in sinks] == ["JsonLinesSink", "DatabaseSink", "FunctionSink"]
    assert sinks[1].places == {Part.ACCOUNTING: "sqlite:////o/a.db, table accounting"}


def test_a_function_alone_is_handed_everything() -> None:
    (sink,) = sinks_of(SHAPE, take)
    assert sink.places == dict.fromkeys(Part, "take()")


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        (
            "totals.csv",
            {},
            r"'totals.csv' is no target for rows(.|\n)*sqlite:///(.|\n)*jdbc:(.|\n)*parquet(.|\n)*jsonl",
        ),
        ("totals/", {"dead_letters": "late.txt"}, "'late.txt' is no target for dead_letters"),
        ("sqlite:///t.db", {}, "needs a table. Name one, as in table='totals'"),
        ("sqlite://t.db", {"table": "t"}, "names no SQLite file"),
        ("sqlite:///:memory:", {"table": "t"}, "names no SQLite file"),
        ("sqlite:///t.db?mode=ro", {"table": "t"}, "names no SQLite file"),
        ("sqlite:///t.db?timeout=soon", {"table": "t"}, "'soon'.* is no number of seconds"),
        ("totals/", {"table": "t"}, "`table` .* no target is one"),
        ("totals/", {"properties": {"user": "me"}}, "`properties` are for a JDBC driver"),
        ("jdbc:x:y", {"table": "t", "properties": {"ssl": None}}, "property 'ssl' is a NoneType"),
        ("sqlite:///t.db", {"table": "t", "refused": "skip"}, "`refused` .'skip'. is neither 'stop' nor 'letters'"),
        ("totals/", {"refused": "letters"}, "rows and dead letters do not go to one"),
        ("sqlite:///t.db", {"table": "t", "dead_letters": "late.jsonl", "refused": "letters"}, "do not go to one"),
        ("totals/", {"dead_letters": "totals/"}, "rows and dead_letters would both go to"),
        ("a.jsonl", {"dead_letters": "b.jsonl", "accounting": "b.jsonl"}, "dead_letters and accounting would both"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_a_query_starts(target: str, options: Any, said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        sinks_of(SHAPE, target, **options)


def test_names_that_a_place_needs_itself_are_refused() -> None:
    def named(*keys: str, **aggregates: Any) -> Any:
        schema = SCHEMA.append(SCHEMA.field("k").with_name("batch")).append(SCHEMA.field("k").with_name("window_start"))
        stream = fl.stream([], time="ts").key_by(*keys)
        return shape_of(lambda _: stream.window(fl.tumbling("1 s")).agg(**aggregates), schema)

    with pytest.raises(fl.SpecError, match="'n' and 'N' of table 't' have one name"):
        sinks_of(named("k", n=fl.count(), N=fl.count()), "sqlite:///t.db", table="t")
    with pytest.raises(fl.SpecError, match="'window_start' and 'window_start'"):
        sinks_of(named("window_start", n=fl.count()), "sqlite:///t.db", table="t")
    with pytest.raises(fl.SpecError, match="a result column is called 'batch'"):
        sinks_of(named("batch", n=fl.count()), "totals/")


def test_properties_are_written_as_a_driver_reads_them() -> None:
    (sink,) = sinks_of(SHAPE, "jdbc:x:y", table="t", properties={"ssl": False, "tcp": True, "timeout": 3, "user": "me"})
    assert sink.database.properties == (("ssl", "false"), ("tcp", "true"), ("timeout", "3"), ("user", "me"))


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        ("postgresql://me:secret@db.example/shop", "jdbc:postgresql://host/database"),
        ("postgres+psycopg2://me:secret@db.example/shop", "jdbc:postgresql://host/database"),
        ("mysql://db.example/shop", "jdbc:mysql://host/database"),
        ("oracle:thin:me/secret@db.example:1521/shop", "jdbc:oracle:"),
    ],
)
def test_an_address_of_a_database_without_jdbc_is_told_so(target: str, remedy: str) -> None:
    with pytest.raises(fl.SpecError, match="is a database, and those are written to by JDBC") as told:
        sinks_of(SHAPE, target, table="totals")
    assert remedy in str(told.value)
    assert "secret" not in str(told.value)
