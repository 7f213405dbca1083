"""Tables and drivers: names, columns of JSON, properties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.sinks.orders import SCHEMA, shape_of

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.sinks.targets import sinks_of
from fanlight.spark.jdbc.connection import JdbcDatabase

from .desk import Desk
from .test_keys import COUNTED, WINDOW, row

pytestmark = [pytest.mark.slow, pytest.mark.integration]


def listed(_: Any) -> fl.Result:
    stream = fl.stream([], time="ts").key_by("k").window(fl.tumbling("10 s"))
    return stream.agg(values=fl.list("v"), all=fl.list("k"))


def test_a_column_of_json_takes_lists_and_null(postgres: Desk) -> None:
    """JSON and JSONB, in a table of the user's; the database can then ask inside them."""
    shape = shape_of(listed, SCHEMA)
    bounds = '"window_start" TIMESTAMPTZ, "window_end" TIMESTAMPTZ'
    postgres.does(f'CREATE TABLE "totals" ("k" TEXT, {bounds}, "values" JSONB, "all" JSON)')
    rows = [
        {"k": "a", "window": WINDOW, "values": [1, 2], "all": ['a"', None]},
        {"k": "b", "window": WINDOW, "values": None, "all": []},
    ]
    for query in ("one", "two"):
        postgres.takes(postgres.sink(shape), shape, 0, rows, query=query)
    question = 'SELECT "k", "values"->>1, "all"->>0, jsonb_typeof("values") FROM "totals" ORDER BY "k"'
    assert postgres.asked(question) == [("a", "2", 'a"', "array"), ("b", None, None, None)]


def test_properties_may_be_true_false_and_numbers(desk: Desk) -> None:
    more = {"ssl": False, "tcpKeepAlive": True, "connectTimeout": 10} if desk.is_postgres else {"useSsl": False}
    (sink,) = sinks_of(COUNTED, desk.url, table="totals", properties=desk.properties | more, jdbc=JdbcDatabase)
    desk.takes(sink, COUNTED, 0, [row("a", 1)])
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals')}") == [("1",)]


def test_names_that_are_too_long_are_refused_before_anything_is_made(desk: Desk, tmp_path: Path) -> None:
    """PostgreSQL has 63 bytes and cuts off in silence, so that two tables would be one; MariaDB has 64 characters."""
    longest = 63 if desk.is_postgres else 64
    fits = "t" * (longest - len("_dead_letters_by_key"))
    desk.takes(desk.sink(COUNTED, fits), COUNTED, 0, [row("a", 1)])
    before = desk.asked("SELECT COUNT(*) FROM information_schema.tables")
    with pytest.raises(SinkError, match=rf"'t*_dead_letters_by_key' is longer than the {longest}.*shorter `table`"):
        desk.takes(desk.sink(COUNTED, f"{fits}t"), COUNTED, 0, [row("a", 1)])
    apart: Any = {"dead_letters": str(tmp_path / "late.jsonl"), "accounting": False, "properties": desk.properties}
    _, sink = sinks_of(COUNTED, desk.url, table="t" * (longest - 6), jdbc=JdbcDatabase, **apart)
    with pytest.raises(SinkError, match=rf"the name 't*_by_key' is longer than the {longest}"):
        desk.takes(sink, COUNTED, 0, [row("a", 1)])
    with pytest.raises(SinkError, match=rf"the name 't*' is longer than the {longest}"):
        desk.takes(desk.sink(COUNTED, "t" * (longest + 1)), COUNTED, 0, [row("a", 1)])
    assert desk.asked("SELECT COUNT(*) FROM information_schema.tables") == before


def test_a_name_is_as_long_as_its_bytes_in_postgresql_and_as_its_characters_in_mariadb(desk: Desk) -> None:
    """Twenty snowmen and `_dead_letters` are 33 characters and 73 bytes."""
    name = "\u2603" * 20
    sink = desk.sink(COUNTED, name)
    if desk.is_postgres:
        with pytest.raises(SinkError, match="longer than the 63"):
            desk.takes(sink, COUNTED, 0, [row("a", 1)])
    else:
        desk.takes(sink, COUNTED, 0, [row("a", 1)])
        assert desk.asked(f"SELECT COUNT(*) FROM `{name}`") == [("1",)]
