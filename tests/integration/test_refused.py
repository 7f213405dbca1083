"""A value that a database refuses: the row is named with what helps, or goes to the dead letters while all goes on."""

from __future__ import annotations

import hashlib
import json
import math
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.sinks.orders import bundle, put, shape_of, streamed

import fanlight as fl
from fanlight.errors import SinkError

from .desk import Desk
from .servers import PASSWORD
from .test_keys import WINDOW

pytestmark = [pytest.mark.slow, pytest.mark.integration]

LONG = "".join(hashlib.sha512(bytes([number])).hexdigest() for number in range(60))
"""7,680 characters that no compression makes short."""

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.float64()})


def summed(_: Any) -> fl.Result:
    return fl.stream([], time="ts").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count(), total=fl.sum("v"))


SUMMED = shape_of(summed, SCHEMA)


def row(key: str, total: float = 1.0, n: int = 1) -> dict[str, Any]:
    return {"k": key, "window": WINDOW, "n": n, "total": total}


CASES = {
    "a NUL in PostgreSQL's text": ("postgres", row("a\0b"), "k", r"'a\x00b'", "0x00"),
    "a key longer than PostgreSQL's index takes": ("postgres", row(LONG), "k", LONG[:40], "exceeds btree"),
    "a key longer than MariaDB's column": ("maria", row(LONG), "k", LONG[:40], "Data too long"),
    "NaN in MariaDB": ("maria", row("tea", math.nan), "total", "NaN", "NaN"),
    "an infinity in MariaDB": ("maria", row("tea", -math.inf), "total", "-Infinity", "Infinity"),
}


@pytest.fixture(params=CASES)
def case(request: Any) -> tuple[Desk, dict[str, Any], str, str, str]:
    server, *rest = CASES[request.param]
    return (request.getfixturevalue(server), *rest)


def others(count: int) -> list[dict[str, Any]]:
    return [row(f"key {number}") for number in range(count)]


def test_the_row_its_key_and_its_column_are_named(case: Any) -> None:
    """Among 2,500 others, which is more than a driver is sent at once. Nothing of the batch is written."""
    desk, bad, column, value, said = case
    rows = [*others(2_000), bad, *others(2_500)[2_000:]]
    with pytest.raises(SinkError) as stopped:
        desk.takes(desk.sink(SUMMED), SUMMED, 0, rows)
    told = str(stopped.value)
    assert f"table totals did not take batch 0: it refuses the row with k = {bad['k'][:79]!r}"[:-1] in told
    assert f"for its column '{column}' (" in told
    assert value in told
    assert said in told
    assert "refused='letters'" in told
    assert "2026-01-01T00:00:00" in told
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals')}") == [("0",)]


def test_refused_rows_go_to_the_dead_letters_and_all_others_are_written(case: Any) -> None:
    desk, bad, column, _, said = case
    sink = desk.sink(SUMMED, refused="letters")
    desk.takes(sink, SUMMED, 0, [row("tea"), *others(20)])
    desk.takes(sink, SUMMED, 1, [*others(500), bad, row("last")])
    desk.takes(sink, SUMMED, 2, [row("after")])
    names = ", ".join(desk.named(name) for name in ("query", "batch", "reason", "detail", "record"))
    ((query, batch, reason, detail, record),) = desk.asked(f"SELECT {names} FROM {desk.named('totals_dead_letters')}")
    assert (query, batch, reason) == ("q", "1", "refused")
    told = json.loads(detail)
    assert (told["table"], told["column"]) == ("totals", column)
    assert said in told["message"]
    kept = json.loads(record)
    assert (kept["k"], kept["n"]) == (bad["k"], 1)
    found = {key for (key,) in desk.asked(f"SELECT {desk.named('k')} FROM {desk.named('totals')}")}
    # a key that is updated by a row which is refused has no row: the old one is out of date
    assert found == {f"key {number}" for number in range(500)} | {"last", "after"} | ({"tea"} - {bad["k"]})
    assert len(desk.asked(f"SELECT * FROM {desk.named('totals_accounting')}")) == 3


def test_every_second_row_refused(postgres: Desk) -> None:
    rows = [row(f"{number}\0" if number % 2 else f"{number}") for number in range(60)]
    postgres.takes(postgres.sink(SUMMED, refused="letters"), SUMMED, 0, rows)
    assert postgres.asked('SELECT COUNT(*) FROM "totals"') == [("30",)]
    assert postgres.asked('SELECT COUNT(DISTINCT "record") FROM "totals_dead_letters"') == [("30",)]


@pytest.mark.parametrize("trouble", ["a column is gone", "a lock is held"])
def test_what_is_no_refusal_of_a_value_stops_the_query_whatever_is_wished(desk: Desk, trouble: str) -> None:
    """Were every failure a refusal, a full disk would empty the table into the dead letters."""
    sink = desk.sink(SUMMED, refused="letters")
    desk.takes(sink, SUMMED, 0, [row("tea"), row("coffee")])
    totals = desk.named("totals")
    if trouble == "a column is gone":
        desk.does(f"ALTER TABLE {totals} DROP COLUMN {desk.named('total')}")
    elif desk.is_postgres:
        desk.does("ALTER DATABASE desk SET lock_timeout = '200ms'")
        desk.does('BEGIN; LOCK TABLE "totals"')
    else:
        desk.does("SET GLOBAL innodb_lock_wait_timeout = 1")
        desk.does("START TRANSACTION")
        desk.does("UPDATE totals SET n = n + 1")
    with pytest.raises(SinkError, match=r"did not take batch 1: .*Free what holds it"):
        desk.takes(sink, SUMMED, 1, [row("tea", n=2)])
    desk.does("ROLLBACK")
    assert desk.asked(f"SELECT COUNT(*) FROM {totals}") == [("2",)]
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals_dead_letters')}") == [("0",)]


def test_a_row_that_a_constraint_holds_is_not_taken_for_gone(desk: Desk) -> None:
    """A table of the user's points to the row of `tea`, so it cannot be replaced: the query stops."""
    sink = desk.sink(SUMMED, refused="letters")
    desk.takes(sink, SUMMED, 0, [row("tea"), row("coffee")])
    totals, k, points = desk.named("totals"), desk.named("k"), desk.named("points")
    text = "TEXT" if desk.is_postgres else "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    desk.does(f"ALTER TABLE {totals} ADD CONSTRAINT one UNIQUE ({k})")
    desk.does(f"CREATE TABLE {points} ({k} {text}, FOREIGN KEY ({k}) REFERENCES {totals} ({k}))")
    desk.does(f"INSERT INTO {points} VALUES ('tea')")
    with pytest.raises(SinkError, match=r"refuses the row with k = 'tea'"):
        desk.takes(sink, SUMMED, 1, [row("coffee", n=2), row("tea", n=2)])
    assert desk.asked(f"SELECT {desk.named('n')} FROM {totals}") == [("1",), ("1",)]


def keyed(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k").window(fl.tumbling("10 seconds"))
    return stream.agg(n=fl.count())


def test_a_stream_that_stopped_goes_on_when_it_is_told_to(spark: SparkSession, tmp_path: Path, postgres: Desk) -> None:
    """The story: one key with a NUL stops the query, at every start; then the remedy of the message is tried."""
    put(tmp_path / "in", [bundle((1, "a", 1), (2, "b\0", 1)), bundle((30, "a", 1), (31, "c", 1)), bundle((90, "d", 1))])
    options: dict[str, Any] = {"checkpoint": str(tmp_path / "checkpoint"), "available_now": True, "table": "totals"}
    options["properties"] = postgres.properties

    def run(**more: Any) -> None:
        query = streamed(spark, tmp_path / "in", keyed).write_to(postgres.url, **options, **more)
        assert query is not None
        query.awaitTermination(240)

    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=r"refuses the row with k = 'b\\x00'.*refused='letters'"):
            run()
    run(refused="letters")
    assert postgres.asked('SELECT "k" FROM "totals" ORDER BY "k", "window_start"') == [("a",), ("a",), ("c",)]
    ((reason, record),) = postgres.asked('SELECT "reason", "record" FROM "totals_dead_letters"')
    assert (reason, json.loads(record)["k"]) == ("refused", "b\0")


def test_a_wrong_password_is_not_shown(desk: Desk) -> None:
    """Nor is the right one, in what a real driver says."""
    wrong = "wRoNg7"
    properties = desk.properties | {"password": wrong}
    desk_of_a_stranger = Desk(desk.spark, f"{desk.url}?password={PASSWORD}x", properties, None)
    with pytest.raises(SinkError, match="did not take batch 0") as refused:
        desk_of_a_stranger.takes(desk_of_a_stranger.sink(SUMMED), SUMMED, 0, [])
    told = "".join(traceback.format_exception(refused.value))
    assert wrong not in told.replace('wrong = "wRoNg7"', "")
    assert PASSWORD not in told
