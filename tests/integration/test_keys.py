"""Keys are told apart byte for byte, whatever the database takes for one; and a table that cannot is found out."""

from __future__ import annotations

import json
import math
import re
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.sinks.orders import BASE, BUNDLES, corrected, put, shape_of, standing, stepped, streamed
from tests.spark.sinks.orders_as_rows import CHANGES, Order, offered

import fanlight as fl
from fanlight.errors import SinkError

from .desk import Desk

pytestmark = [pytest.mark.slow, pytest.mark.integration]

WINDOW = {"start": BASE, "end": BASE + timedelta(seconds=10)}


def counted(_: Any) -> fl.Result:
    stream = fl.stream([], time="ts", delay="5 seconds").key_by("k").window(fl.tumbling("10 seconds"))
    return stream.agg(n=fl.count())


COUNTED = shape_of(counted)


def row(key: str | None, n: int) -> dict[str, Any]:
    return {"k": key, "window": WINDOW, "n": n}


ALIKE = [
    "tea",
    "TEA",
    "Tea",
    "tea ",
    "tea  ",
    " tea",
    "t\u00e9a",
    "te\u0301a",
    "te\u00ada",
    "tea\t",
    "\uff54ea",
    "",
    " ",
    None,
]
"""To some collation any two neighbours of these are one key."""


def test_keys_that_look_alike_are_kept_apart(desk: Desk) -> None:
    """Each is written, then each is updated in a batch of its own, which must find its own row and no other."""
    sink = desk.sink(COUNTED)
    desk.takes(sink, COUNTED, 0, [row(key, 0) for key in ALIKE])
    for number, key in enumerate(ALIKE, 1):
        desk.takes(sink, COUNTED, number, [row(key, number)])
    k, n = desk.named("k"), desk.named("n")
    kept = desk.asked(f"SELECT {k}, {n} FROM {desk.named('totals')}")
    assert sorted(kept, key=repr) == sorted(((key, str(n)) for n, key in enumerate(ALIKE, 1)), key=repr)


def test_rows_are_upserted_by_unique_text_that_looks_alike_and_changes_act_by_it(desk: Desk) -> None:
    """A result without windows. Each is inserted, then each is updated in a batch of its own, then every other goes."""
    sink = desk.sink(CHANGES, "orders", unique="shop")

    def takes(number: int, *orders: Order) -> None:
        for _ in range(2):  # the second is a repeat, and skipped
            desk.delivers(sink, offered(CHANGES, number, *orders))

    takes(0, *((shop, 0, 0.5, "+I") for shop in ALIKE))
    for number, shop in enumerate(ALIKE, 1):
        takes(number, (shop, 0, 0.5, "-U"), (shop, number, 1.5, "+U"))
    takes(len(ALIKE) + 1, *((shop, 0, 1.5, "-D") for shop in ALIKE[::2]))
    shop, number = desk.named("shop"), desk.named("id")
    kept = desk.asked(f"SELECT {shop}, {number} FROM {desk.named('orders')}")
    left = [(shop, str(number)) for number, shop in enumerate(ALIKE, 1)][1::2]
    assert sorted(kept, key=repr) == sorted(left, key=repr)


def test_queries_whose_names_look_alike_are_different_queries(desk: Desk) -> None:
    """A batch DataFrame is written once under its name; were `Monday` taken for `monday`, it would be skipped."""
    sink = desk.sink(COUNTED)
    for number, query in enumerate(("monday", "Monday", "monday ")):
        desk.takes(sink, COUNTED, 0, [row(query, number)], query=query)
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals')}") == [("3",)]


def test_a_stream_becomes_a_table(spark: SparkSession, tmp_path: Path, desk: Desk) -> None:
    put(tmp_path / "in", BUNDLES)
    options: Any = {"checkpoint": str(tmp_path / "checkpoint"), "available_now": True, "properties": desk.properties}
    query = streamed(spark, tmp_path / "in", corrected).write_to(desk.url, table="totals", **options)
    assert query is not None
    query.awaitTermination(240)
    names = ", ".join(desk.named(name) for name in ("k", "window_start", "window_end", "n", "revenue", "values"))
    expected = [
        (key, *(str(moment.replace(tzinfo=None)) for moment in window), str(kept["n"]), *map(_text, (kept["revenue"],)),
         json.dumps(kept["values"], separators=(",", ":")))
        for (key, *window), kept in standing(pa.concat_tables(stepped(corrected, BUNDLES))).items()
    ]  # fmt: skip
    found = [
        (k, *(moment.removesuffix(".000000") for moment in moments), *rest)
        for k, *moments, n, revenue, values in desk.asked(f"SELECT {names} FROM {desk.named('totals')}")
        for rest in [(n, revenue, values)]
    ]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert len(desk.asked(f"SELECT * FROM {desk.named('totals_dead_letters')}")) == 2


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


EVERY = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "x": pa.float64(),
        "day": pa.date32(),
        "flag": pa.bool_(),
        "raw": pa.binary(),
        "price": pa.decimal128(30, 9),
        "moment": pa.timestamp("us", "UTC"),
        "name": pa.string(),
        "small": pa.int16(),
    }
)


def every_type(_: Any) -> fl.Result:
    keys = [name for name in EVERY.names if name != "ts"]
    return fl.stream([], time="ts").key_by(*keys).window(fl.tumbling("10 s")).agg(n=fl.count())


def test_keys_of_every_type_are_found_again_nulls_too(desk: Desk) -> None:
    """Written by one query and again by another: each key must find its row, in PostgreSQL also NaN."""
    shape = shape_of(every_type, EVERY)
    full = {
        "x": 1 / 3,
        "day": date(1600, 2, 29),
        "flag": True,
        "raw": b"\x00\xff ",
        "price": Decimal("123456789012345678901.000000001"),
        "moment": BASE + timedelta(microseconds=1),
        "name": "snow \u2603 \U0001f375",
        "small": -7,
        "window": WINDOW,
        "n": 2**62,
    }
    floats = [0.1, 5e-324, 1.7976931348623157e308, -0.0, *([math.nan, math.inf, -math.inf] if desk.is_postgres else [])]
    rows = [full, *(full | {"x": x} for x in floats), *(full | {name: None} for name in list(full)[:8])]
    rows += [full | {"raw": b"\x00\xff"}, dict.fromkeys(full) | {"window": WINDOW, "n": 1}]
    sink = desk.sink(shape)
    for query in ("one", "two"):
        desk.takes(sink, shape, 0, rows, query=query)
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals')}") == [(str(len(rows)),)]
    moments = desk.asked(f"SELECT DISTINCT {desk.named('moment')}, {desk.named('price')} FROM {desk.named('totals')}")
    assert ("2026-01-01 00:00:00.000001", "123456789012345678901.000000001") in moments


def test_keys_of_seventy_columns_with_nulls_are_found_again(desk: Desk) -> None:
    """More than 64: which columns are null does not fit a whole number."""
    names = [f"k{number}" for number in range(70)]
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), **dict.fromkeys(names, pa.string())})
    declared = fl.stream([], time="ts").key_by(*names).window(fl.tumbling("10 s")).agg(n=fl.count())
    shape = shape_of(lambda _: declared, schema)
    full = {**dict.fromkeys(names, "v"), "window": WINDOW, "n": 1}
    rows = [full, *(full | {name: None} for name in names), dict.fromkeys(names) | {"window": WINDOW, "n": 1}]
    sink = desk.sink(shape)
    for query in ("one", "two"):
        desk.takes(sink, shape, 0, rows, query=query)
    assert desk.asked(f"SELECT COUNT(*) FROM {desk.named('totals')}") == [("72",)]


LOOSE = {
    "mariadb": {
        "VARCHAR(99)": "'tea' = 'TEA'",
        "VARCHAR(99) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": "'tea' = 'tea '",
        "VARCHAR(99) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_nopad_ci": "'tea' = 'TEA'",
        "CHAR(99) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin": "fills its values up",
        "BINARY(99)": "fills its values up",
        "INT": "compares loosely",
    },
    "postgresql": {
        "CITEXT": "'tea' = 'TEA'",
        "TEXT COLLATE unseen": "'tea' = 'tea '",
        "CHAR(99)": "fills its values up",
        "UUID": "does not hold any text",
    },
}


@pytest.mark.parametrize(("product", "kind"), [(product, kind) for product, kinds in LOOSE.items() for kind in kinds])
def test_a_table_that_compares_loosely_is_refused_at_the_start_and_what_is_said_helps(
    product: str, kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Desk = request.getfixturevalue("postgres" if product == "postgresql" else "maria")
    if desk.is_postgres:
        desk.does("CREATE EXTENSION IF NOT EXISTS citext")
        unseen = "provider = icu, locale = 'und-u-ks-level3-ka-shifted', deterministic = false"
        desk.does(f"CREATE COLLATION IF NOT EXISTS unseen ({unseen})")
    k, totals = desk.named("k"), desk.named("totals")
    moment = "TIMESTAMP(6)" if desk.is_postgres else "DATETIME(6)"
    columns = ", ".join(f"{desk.named(name)} {moment}" for name in ("window_start", "window_end"))
    desk.does(f"CREATE TABLE {totals} ({k} {kind}, {columns}, {desk.named('n')} BIGINT)")
    sink = desk.sink(COUNTED)
    with pytest.raises(SinkError, match=rf"table totals: column 'k' .*{LOOSE[product][kind]}") as refused:
        desk.takes(sink, COUNTED, 0, [row("tea", 1)])
    remedy = re.search(r"byte for byte: (ALTER TABLE .*);", str(refused.value))
    assert remedy is not None
    schema = "current_schema()" if desk.is_postgres else "database()"
    tables = f"SELECT table_name FROM information_schema.tables WHERE table_schema = {schema}"
    assert desk.asked(tables) == [("totals",)]
    if kind == "UUID":
        desk.does(f"DROP TABLE {totals}")  # no key that is text was ever in it
    else:
        desk.does(remedy[1])
    for number, key in enumerate(ALIKE):
        desk.takes(sink, COUNTED, number, [row(key, number)])
    assert desk.asked(f"SELECT COUNT(*) FROM {totals}") == [(str(len(ALIKE)),)]


def test_a_table_of_batches_that_compares_loosely_is_refused_too(maria: Desk) -> None:
    """As one may be that was made before."""
    maria.does("CREATE TABLE fanlight_batches (`query` VARCHAR(255), `table_name` VARCHAR(255), `batch` BIGINT)")
    with pytest.raises(SinkError, match=r"table fanlight_batches: column 'query' .*'tea' = 'TEA'.*ALTER TABLE"):
        maria.takes(maria.sink(COUNTED), COUNTED, 0, [row("tea", 1)])
