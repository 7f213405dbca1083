"""The same pipeline on Spark and in this process: one law, two engines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int64(), "price": pa.decimal128(10, 2)})
DDL = "ts timestamp, k string, v bigint, price decimal(10,2)"

Declared = Callable[[Any], fl.Result]


def bundle(*records: tuple[int, str | None, int | None]) -> pa.Table:
    """Records as (second, key, value); the price is the value in quarters."""
    rows = [
        {"ts": BASE + timedelta(seconds=second), "k": key, "v": value, "price": None if value is None else value * 25}
        for second, key, value in records
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


BUNDLES = [
    bundle((1, "a", 1), (4, "b", 2), (9, "a", None), (11, None, 4), (3, "a", 5)),
    bundle((25, "a", 6), (8, "b", 7), (14, "c", 8), (26, None, 9)),
    bundle((2, "a", 10), (31, "b", 11), (17, "a", 12), (44, "c", 13)),
    bundle((60, "a", 14), (61, "b", 15)),
    bundle(
        (120, "a", 16),
    ),
]


_TOO_LATE = pa.array([10, 12])
IN_TIME = pa.concat_tables(BUNDLES).filter(pc.invert(pc.is_in(pc.field("v"), _TOO_LATE)))
"""What a stream lets into windows without lateness: two records of the third bundle come when theirs have expired."""


def tumbling(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k").window(fl.tumbling("10 seconds"))
    return stream.agg(n=fl.count(), total=fl.sum("v"), top=fl.max("price"))


def hopping_late(source: Any) -> fl.Result:
    return (
        fl.stream(source, time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.hopping("20 seconds", every="5 seconds"), lateness="1 minute")
        .trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), total=fl.sum("v"), values=fl.list("v"))
    )


def without_keys(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds").window(fl.tumbling("30 seconds"))
    return stream.agg(n=fl.count(), p50=fl.median("v"), mean=fl.avg("price"))


@pytest.mark.filterwarnings("ignore:.*all records came as one bundle")  # which is what is compared
@pytest.mark.parametrize("declared", [tumbling, hopping_late, without_keys])
def test_a_batch_dataframe_is_one_bundle_with_which_the_input_ends(spark: SparkSession, declared: Declared) -> None:
    table = pa.concat_tables(BUNDLES)
    fired = rows(declared(spark.createDataFrame(table.to_pandas(), DDL)).df)
    assert fired == plain(declared(table).table())


def test_no_firing_is_called_the_last_before_the_input_has_ended(spark: SparkSession) -> None:
    """The watermark of the bundle is 115 s, so [100, 110) closes with it and, with a minute of lateness, is not over;
    [120, 130) closes with the end.
    """
    table = bundle((101, "a", 1), (120, "b", 2))
    frame = spark.createDataFrame(table.to_pandas(), DDL).repartition(2, "k")
    stream = fl.stream(frame, time="ts", delay="5 seconds").key_by("k")
    result = stream.window(fl.tumbling("10 seconds"), lateness="1 minute").agg(n=fl.count())
    assert [(row["k"], row["pane"]["is_last"]) for row in rows(result.df)] == [("a", False), ("b", True)]
    shards = result.accounts.toArrow().to_pylist()
    assert sum(row["received"] for row in shards) == 2
    assert all(row["received"] for row in shards), "a shard that got nothing has no account"


@pytest.mark.parametrize("declared", [tumbling, hopping_late, without_keys])
def test_a_streaming_query_fires_what_the_embedded_engine_fires(
    spark: SparkSession, tmp_path: Path, declared: Declared
) -> None:
    """One file is one micro-batch, and acts on the watermark of all records up to and with it."""
    write(tmp_path / "in", BUNDLES)
    assert run(spark, tmp_path, declared) == plain(stepped(declared, each_with_its_own(BUNDLES)))


def test_what_comes_too_late_is_a_dead_letter_on_spark_too(spark: SparkSession, tmp_path: Path) -> None:
    """The second batch acted on a watermark of 21, the third on one of 39 and the fourth on one of 56."""
    write(tmp_path / "in", [*BUNDLES, bundle((3, "a", 99))])
    fired = run(spark, tmp_path, tumbling, letters=True)
    dead = [(row["reason"], row["record"]["k"], row["record"]["v"]) for row in fired]
    assert dead == [("expired", "a", 10), ("expired", "a", 12), ("expired", "a", 99)]


def test_a_value_that_does_not_fit_is_a_letter_on_spark_too(spark: SparkSession) -> None:
    """Tea leaves int64; decimals are as Spark infers them, decimal(38,18). A later stage, where what tea and milk have
    in common is 38 nines twice, tells its own letter beside the first one's.
    """
    with localcontext(prec=40):
        most = Decimal("9" * 20 + "." + "9" * 18)
        rest, both = most - 1, most + most - 1
    orders = [("tea", 2**62, most), ("tea", 2**62, Decimal(-1)), ("milk", 1, most)]
    frame = spark.createDataFrame(
        [(BASE, *order) for order in orders], "ts timestamp, k string, v bigint, price decimal(38,18)"
    )
    windows = fl.stream(frame, time="ts", delay="0 s").key_by("k").window(fl.tumbling("1 minute"))
    result = windows.agg(total=fl.sum("v"), price=fl.sum("price"), mean=fl.avg("v"))
    assert [(row["k"], row["total"], row["price"]) for row in result.df.collect()] == [("milk", 1, most)]
    (letter,) = result.dead_letters.collect()
    detail = json.loads(letter["detail"])
    assert (letter["reason"], letter["record"], detail["out_of_range"]) == ("value_out_of_range", None, ["total"])
    assert detail["values"] == {"total": str(2**63), "price": str(rest), "mean": 2.0**62}
    (account,) = result.accounts.groupBy().sum("received", "dead_letters", "values_out_of_range").collect()
    assert tuple(account) == (3, 0, 1)
    prices = windows.agg(n=fl.count(), price=fl.sum("price")).rewindow().agg(price=fl.sum("price"))
    assert prices.df.collect() == []
    (letter,) = prices.dead_letters.collect()
    assert json.loads(letter["detail"])["values"] == {"price": str(both)}


def test_a_query_that_is_stopped_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    """A stop adds a batch without data, and so a firing; but every pane ends up where an unbroken run leaves it."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    write(whole / "in", BUNDLES)
    expected = run(spark, whole, hopping_late)
    write(cut / "in", BUNDLES[:2])
    assert run(spark, cut, hopping_late)
    write(cut / "in", BUNDLES[2:], start=2)
    assert standing(run(spark, cut, hopping_late)) == standing(expected)


def test_spark_is_told_what_it_cannot_carry_before_a_query_starts(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("2026-01-01", 1)], "ts string, value bigint")
    with pytest.raises(fl.InputError, match="needs a timestamp"):
        fl.stream(frame, time="ts", delay="0 s").window(fl.tumbling("1 minute")).agg(n=fl.count())
    with pytest.raises(fl.InputError, match="Did you mean 'value'"):
        fl.stream(frame, time="values", delay="0 s").window(fl.tumbling("1 minute")).agg(n=fl.count())
    timed = spark.createDataFrame([], "ts timestamp")
    with pytest.raises(fl.SpecError, match="by hand"):
        fl.stream(timed, time="ts", watermark=fl.Explicit()).window(fl.tumbling("1 minute")).agg(n=fl.count())
    with pytest.raises(fl.SpecError, match="Use df"):
        fl.stream(timed, time="ts", delay="0 s").window(fl.tumbling("1 minute")).agg(n=fl.count()).table()


def write(folder: Path, bundles: list[pa.Table], start: int = 0) -> None:
    """One file a bundle. Spark reads files in the order they were changed, so each says its own second."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(bundles, start):
        file = folder / f"{number:03d}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)


def run(spark: SparkSession, folder: Path, declared: Declared, *, letters: bool = False) -> list[dict[str, Any]]:
    """Read what is there, one file a micro-batch in order of their names, and stop."""
    source = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    result = declared(source)
    query = (
        (result.dead_letters if letters else result.df)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start(str(folder / "out"))
    )
    assert query.awaitTermination(240), "the query did not end"
    if letters:
        return [row.asDict(recursive=True) for row in spark.read.parquet(str(folder / "out")).collect()]
    return results(spark, folder)


def results(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    return rows(spark.read.parquet(str(folder / "out")))


def stepped(declared: Declared, steps: list[tuple[pa.Table | None, int | None]]) -> pa.Table:
    """The embedded engine over the same bundles, told each watermark."""
    spec = replace(declared([]).spec, watermark=fl.Explicit())
    operator = fl.WindowOperator(spec, schema=SCHEMA)
    for table, watermark in steps:
        if table is None:
            operator.advance(watermark=watermark)
        else:
            operator.add(table, watermark=watermark)
    table = operator.take()
    return table.drop_columns(["pane"]) if spec.fires_once else table


def each_with_its_own(bundles: list[pa.Table]) -> list[tuple[pa.Table | None, int | None]]:
    """Each bundle with the watermark of all records up to and with it."""
    latest = [int(pc.max(table["ts"].cast(pa.int64())).as_py()) for table in bundles]
    return [(table, max(latest[: place + 1]) - 5_000_000) for place, table in enumerate(bundles)]


def standing(fired: list[dict[str, Any]]) -> dict[Any, list[Any]]:
    """What is left of each pane: insertions and updates, less what was taken back."""
    left: dict[Any, list[Any]] = {}
    for row in sorted(fired, key=lambda row: (row["pane"]["number"], row["pane"]["op"] != "-U")):
        values = left.setdefault((row["k"], row["window"]), [])
        if row["pane"]["op"] == "-U":
            values.remove((row["n"], row["total"]))
        else:
            values.append((row["n"], row["total"]))
    return left


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((spelled(row.asDict(recursive=True)) for row in frame.collect()), key=repr)


def plain(table: pa.Table) -> list[dict[str, Any]]:
    return sorted((spelled(row) for row in table.to_pylist()), key=repr)


def spelled(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times as seconds, whatever zone they were read in."""
    window = row["window"]
    row["window"] = tuple(
        window[side].replace(tzinfo=window[side].tzinfo or UTC).timestamp() for side in ("start", "end")
    )
    if "pane" in row:
        row["pane"] = {name: value for name, value in row["pane"].items() if name not in ("time", "clock")}
    return row
