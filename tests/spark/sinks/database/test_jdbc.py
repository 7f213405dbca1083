"""Any database by JDBC, shown on Derby, which Spark carries."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.jvm import jvm_of
from tests.spark.sinks.orders import (
    BASE,
    BUNDLES,
    SCHEMA,
    corrected,
    handed,
    on_spark,
    put,
    shape_of,
    standing,
    stepped,
    streamed,
)
from tests.spark.sinks.orders_as_rows import CHANGES, ROWS, Order, offered

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.model.time.duration import Duration
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of
from fanlight.spark.jdbc.connection import JdbcDatabase
from fanlight.spark.output import OUTPUT
from fanlight.spark.write import describe

pytestmark = pytest.mark.slow


@pytest.fixture
def url(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A database of its own; Derby's log would lie in the folder the tests were started from."""
    jvm = jvm_of(spark)
    jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    yield f"jdbc:derby:{tmp_path}/derby;create=true"
    # Derby says goodbye by raising
    with pytest.raises(Exception, match="shutdown"):
        jvm.java.sql.DriverManager.getConnection(f"jdbc:derby:{tmp_path}/derby;shutdown=true")


def asked(spark: SparkSession, url: str, question: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.read.jdbc(url, f"({question}) answer").collect()]


def utc(moment: datetime) -> datetime:
    """The moment that a clock which shows `moment` in UTC is at, as Spark hands it out in the driver's zone."""
    return moment.astimezone().replace(tzinfo=None)


def test_a_stream_becomes_a_table_and_a_repeated_batch_changes_nothing(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    put(tmp_path / "in", BUNDLES)
    died: list[int] = []

    def dies(counts: pa.Table, batch: Any) -> None:
        if batch.number == 3 and not died:
            died.append(batch.number)
            raise RuntimeError("the lights went out")

    for ending in ("the lights went out", None):
        options: Any = {"checkpoint": str(tmp_path / "checkpoint"), "available_now": True, "accounting": dies}
        query = streamed(spark, tmp_path / "in", corrected).write_to(url, table="totals", **options)
        assert query is not None
        if ending is None:
            query.awaitTermination(240)
        else:
            with pytest.raises(Exception, match=ending):
                query.awaitTermination(240)
        assert not query.isActive
    columns = (
        'SELECT "k", "window_start", "window_end", "n", "revenue", CAST("values" AS VARCHAR(99)) "v" FROM "totals"'
    )
    expected = [
        (*key[:1], *map(utc, key[1:]), row["n"], row["revenue"], json.dumps(row["values"], separators=(",", ":")))
        for key, row in standing(pa.concat_tables(stepped(corrected, BUNDLES))).items()
    ]  # fmt: skip
    assert sorted(asked(spark, url, columns), key=repr) == sorted(expected, key=repr)
    letters = asked(spark, url, 'SELECT "reason", "batch" FROM "totals_dead_letters"')
    assert letters == [("expired", 4), ("expired", 5)]
    assert len(asked(spark, url, 'SELECT DISTINCT "query" FROM "fanlight_batches"')) == 1


FULL = {
    "ts": BASE,
    "x": 0.1,
    "day": date(1500, 2, 28),
    "flag": True,
    "small": 7,
    "price": Decimal("123456789012345678901.000000001"),
    "moment": BASE + timedelta(microseconds=1),
    "raw": b"\x00\xff",
    "nested": {"at": BASE, "price": Decimal("1.50")},
}
DDL = (
    "ts timestamp, x double, day date, flag boolean, small smallint, price decimal(30,9), moment timestamp, "
    "raw binary, nested struct<at: timestamp, price: decimal(4,2)>"
)


def every_type(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="0 s").key_by("x", "day", "flag", "small", "price", "moment")
    return stream.window(fl.tumbling("1 s")).agg(n=fl.count(), raw=fl.last("raw"), all=fl.list("nested"))


def test_every_type_is_kept_exactly_and_found_again(spark: SparkSession, url: str) -> None:
    """Each key is written twice, the second time under another name: it must find its row, nulls too."""
    nulls = dict.fromkeys(FULL) | {"ts": BASE}
    zone = jvm_of(spark).java.util.TimeZone
    before = zone.getDefault()
    zone.setDefault(zone.getTimeZone("America/New_York"))  # the database holds UTC wherever the JVM is
    try:
        totals = every_type(spark.createDataFrame([FULL, nulls], DDL))
        for name in ("monday", "tuesday"):
            totals.write_to(url, table="APP.totals", name=name)
    finally:
        zone.setDefault(before)
    text = (
        'CAST("day" AS CHAR(10)), "flag", "small", "price", CAST("moment" AS VARCHAR(30)), CAST("all" AS VARCHAR(99))'
    )
    question = f'SELECT "x", {text}, "n" FROM APP."totals" ORDER BY "x"'
    connection = jvm_of(spark).java.sql.DriverManager.getConnection(url)
    answer = connection.createStatement().executeQuery(question)
    rows = []
    while answer.next():
        rows.append([answer.getString(place) for place in range(1, 9)])
    connection.close()
    assert rows == [
        ["0.1", "1500-02-28", "true", "7", "123456789012345678901.000000001", "2026-01-01 00:00:00.000001",
         '[{"at":"2026-01-01T00:00:00.000000Z","price":"1.50"}]', "1"],
        [None, None, None, None, None, None, "[]", "1"],
    ]  # fmt: skip
    assert asked(spark, url, 'SELECT "raw" FROM APP."totals" WHERE "x" > 0') == [(bytearray(b"\x00\xff"),)]


def test_a_table_of_other_columns_fails_the_batch_whole(spark: SparkSession, url: str) -> None:
    connection = jvm_of(spark).java.sql.DriverManager.getConnection(url)
    connection.createStatement().execute('CREATE TABLE "totals_dead_letters" ("mine" INT)')
    connection.close()
    broken = FULL | {"ts": None}
    totals = every_type(spark.createDataFrame([FULL, broken], DDL))
    with pytest.raises(SinkError, match=r"/derby did not take batch 0: .*'query' is not a column.* table"):
        totals.write_to(url, table="totals")
    tables = "SELECT TABLENAME FROM SYS.SYSTABLES WHERE TABLETYPE = 'T'"
    assert asked(spark, url, tables) == [("totals_dead_letters",)]  # it is found out before others are created


def test_a_database_without_a_driver_is_named_without_its_password(spark: SparkSession) -> None:
    totals = every_type(spark.createDataFrame([FULL], DDL))
    secret = "hunter2"
    with pytest.raises(
        SinkError, match=r"jdbc:none://host/x did not take batch 0: .*No suitable driver found for jdbc:none://host/x\."
    ) as it:
        totals.write_to(f"jdbc:none://host/x?password={secret}", table="totals")
    assert secret not in "".join(traceback.format_exception(it.value))
    with pytest.raises(SinkError, match=r"did not take batch 0: .*no\.such\.Driver"):
        totals.write_to("jdbc:none:x", table="totals", properties={"driver": "no.such.Driver", "user": "me"})


def counted(_: Any) -> fl.Result:
    return fl.stream([], time="ts").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count(), top=fl.max("x"))


COUNTED = shape_of(counted, pa.schema({"ts": SCHEMA.field("ts").type, "k": pa.string(), "x": pa.float64()}))


def deliver(spark: SparkSession, url: str, number: int, rows: dict[str | None, float], **options: Any) -> None:
    """Keys and their greatest x, as batch `number`."""
    window = {"start": BASE, "end": BASE + timedelta(seconds=10)}
    listed = [{"k": key, "window": window, "n": number, "top": x} for key, x in rows.items()]
    (sink,) = sinks_of(COUNTED, url, table="totals", jdbc=JdbcDatabase, **options)
    delivery = on_spark(handed(COUNTED, number, pa.Table.from_pylist(listed, schema=COUNTED.rows)), spark.range(0))
    sink.check(delivery)
    sink.write(delivery)


def test_keys_that_differ_in_blanks_at_their_end_are_kept_apart(spark: SparkSession, url: str) -> None:
    """Derby takes `a` and `a ` for one in every comparison, so lengths are compared as well."""
    keys: list[str | None] = ["a", "a ", "a  ", "A", "", " ", None]
    deliver(spark, url, 0, dict.fromkeys(keys, 0.0))
    for number, key in enumerate(keys, 1):
        deliver(spark, url, number, {key: float(number)})
    kept = asked(spark, url, 'SELECT "k", "top" FROM "totals"')
    assert sorted(kept, key=repr) == sorted(((key, float(n)) for n, key in enumerate(keys, 1)), key=repr)


def test_a_key_column_that_is_filled_up_with_blanks_is_refused_at_the_start(spark: SparkSession, url: str) -> None:
    connection = jvm_of(spark).java.sql.DriverManager.getConnection(url)
    columns = '"k" CHAR(9), "window_start" TIMESTAMP, "window_end" TIMESTAMP, "n" BIGINT, "top" DOUBLE'
    connection.createStatement().execute(f'CREATE TABLE "totals" ({columns})')
    connection.close()
    with pytest.raises(SinkError, match=r"column 'k' .*fills its values up.*Create the table with \"k\" VARCHAR"):
        deliver(spark, url, 0, {"a": 1.0})
    assert asked(spark, url, 'SELECT * FROM "totals"') == []


def test_what_the_database_refuses_is_named_or_goes_to_the_dead_letters(spark: SparkSession, url: str) -> None:
    """Derby keeps no NaN."""
    rows: dict[str | None, float] = {"a": 1.0, "b": math.nan, "c": 3.0}
    with pytest.raises(
        SinkError, match=r"refuses the row with k = 'b'.* for its column 'top' \('NaN'\): .*outside the"
    ):
        deliver(spark, url, 0, rows)
    assert asked(spark, url, 'SELECT * FROM "totals"') == []
    deliver(spark, url, 0, rows, refused="letters")
    assert sorted(asked(spark, url, 'SELECT "k" FROM "totals"')) == [("a",), ("c",)]
    letters = 'SELECT "reason", CAST("record" AS VARCHAR(999)) "r" FROM "totals_dead_letters"'
    ((reason, record),) = asked(spark, url, letters)
    assert (reason, json.loads(record)["k"], json.loads(record)["top"]) == ("refused", "b", "NaN")


@contextmanager
def logged(spark: SparkSession) -> Iterator[Any]:
    """All that Spark's JVM logs meanwhile, from warnings upwards, as it says it by itself."""
    logging = jvm_of(spark).org.apache.logging.log4j
    config = logging.LogManager.getContext(False).getConfiguration()
    writer = jvm_of(spark).java.io.StringWriter()
    appender = logging.core.appender.WriterAppender.createAppender(None, None, writer, "heard", False, True)
    appender.start()
    config.getRootLogger().addAppender(appender, logging.Level.ALL, None)
    try:
        yield writer
    finally:
        config.getRootLogger().removeAppender("heard")


def test_a_secret_is_in_no_log_manifest_progress_or_description(
    spark: SparkSession, tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A query that goes well, and one whose driver repeats the whole URL, which Spark then logs."""
    canary = "cAnArY7"
    put(tmp_path / "in", BUNDLES[:1])
    told = []
    with logged(spark) as heard, caplog.at_level("INFO"):
        for number, target in enumerate((f"{url};user=me;password={canary}", f"jdbc:none://me:{canary}@host/x")):
            totals = streamed(spark, tmp_path / "in", corrected)
            told.append(describe(totals.on_spark("describe"), target, table="totals"))
            query = totals.write_to(target, table="totals", checkpoint=tmp_path / f"check{number}", available_now=True)
            assert query is not None
            if number:
                with pytest.raises(StreamingQueryException, match="No suitable driver found for jdbc:none") as raised:
                    query.awaitTermination(240)
                told += traceback.format_exception(raised.value)
            else:
                query.awaitTermination(240)
                assert len(query.recentProgress)
            told += [str(progress) for progress in query.recentProgress]
    told += [str(heard), caplog.text]
    told += [str(file.read_bytes()) for file in tmp_path.glob("check*/**/*") if file.is_file()]
    assert "No suitable driver" in str(heard)
    assert len(told) > 10
    assert [text for text in told if canary in text] == []


def test_a_ledger_by_jdbc_refuses_what_does_not_follow_and_keeps_for_a_time(spark: SparkSession, url: str) -> None:
    """Batches of one minute each, with accounting kept for two; then batch 1 comes again, as from an old checkpoint."""
    shape = shape_of(corrected)
    (sink,) = sinks_of(shape, url, table="totals", keep=Duration.of("2 minutes"), jdbc=JdbcDatabase)
    rows, nothing = stepped(corrected, BUNDLES), spark.createDataFrame([], OUTPUT)

    def offered(number: int, *, accepts: bool = False) -> Delivery:
        watermark = BASE + timedelta(minutes=number)
        return on_spark(handed(shape, number, rows[number], watermark=watermark, accepts=accepts), nothing)

    for number in (0, 1, 1, 2, 3):
        sink.check(offered(number))
        sink.write(offered(number))
    accounted = 'SELECT "batch" FROM "totals_accounting"'
    assert sorted(asked(spark, url, accounted)) == [(1,), (2,), (3,)]
    for number, said in ((1, "its newest batch is 3, and the checkpoint has come to 1 only"), (5, "batch 4 would be")):
        for offer in (sink.check, sink.write):
            with pytest.raises(SinkError, match=said):
                offer(offered(number))
    sink.write(offered(1, accepts=True))
    assert asked(spark, url, accounted) == [(1,)]  # two and three make way: they come again
    sink.write(offered(2))
    connection = jvm_of(spark).java.sql.DriverManager.getConnection(url)
    connection.createStatement().execute('DROP TABLE "totals_dead_letters"')
    connection.close()
    for offer in (sink.check, sink.write):
        with pytest.raises(SinkError, match=r"table totals_dead_letters, did not take batch 3.* the table is gone"):
            offer(offered(3))
    sink.write(offered(3, accepts=True))
    assert asked(spark, url, 'SELECT "batch" FROM "totals_dead_letters"') == []


def take_orders(spark: SparkSession, sink: Sink, shape: ResultShape, *batches: list[Order]) -> None:
    """Batches of a result without windows, the last of them twice, as after a crash."""
    for number, orders in [*enumerate(batches), (len(batches) - 1, batches[-1])]:
        delivery = on_spark(offered(shape, number, *orders), spark.range(0))
        sink.check(delivery)
        sink.write(delivery)


def test_rows_without_a_window_are_added(spark: SparkSession, url: str) -> None:
    (sink,) = sinks_of(CHANGES, url, table="orders", jdbc=JdbcDatabase)
    take_orders(spark, sink, CHANGES, [("a", 1, 0.5, "+I")], [("a", 1, 0.5, "-U"), ("a", 1, 0.5, "+U")])
    kept = asked(spark, url, 'SELECT "shop", "id", "price", "op" FROM "orders"')
    assert sorted(kept) == [("a", 1, 0.5, "+I"), ("a", 1, 0.5, "+U"), ("a", 1, 0.5, "-U")]


def test_rows_are_upserted_by_what_the_user_calls_unique(spark: SparkSession, url: str) -> None:
    """`a` and `a ` are one text to Derby and two shops here; null is a shop too, and the last of a batch wins."""
    (sink,) = sinks_of(ROWS, url, table="orders", unique=("shop", "id"), jdbc=JdbcDatabase)
    first: list[Order] = [("a", 1, 0.0), ("a ", 1, 0.0), (None, 1, 0.0), ("b", None, 0.0), ("a", 2, 0.0)]
    take_orders(spark, sink, ROWS, first, [("a ", 1, 1.0), (None, 1, 2.0), ("b", None, 3.0), (None, 1, 4.0)])
    kept = asked(spark, url, 'SELECT "shop", "id", "price" FROM "orders"')
    expected = [("a", 1, 0.0), ("a ", 1, 1.0), (None, 1, 4.0), ("b", None, 3.0), ("a", 2, 0.0)]
    assert sorted(kept, key=repr) == sorted(expected, key=repr)


def test_changes_act_by_what_the_user_calls_unique(spark: SparkSession, url: str) -> None:
    (sink,) = sinks_of(CHANGES, url, table="orders", unique="id", jdbc=JdbcDatabase)
    first: list[Order] = [("a", 1, 0.5, "+I"), ("b", 2, 1.5, "+I")]
    take_orders(spark, sink, CHANGES, first, [("a", 1, 0.5, "-U"), ("c", 1, 2.0, "+U"), ("b", 2, 1.5, "-D")])
    assert asked(spark, url, 'SELECT "shop", "id", "price" FROM "orders"') == [("c", 1, 2.0)]
