"""Columns by their names as they are; names and texts that Spark takes for one are refused when declared."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lower
from pyspark.sql.pandas.types import from_arrow_schema
from typer.testing import CliRunner

import fanlight as fl
from fanlight.cli.inspect import inspect as show
from fanlight.spark.checkpoint.inspection import inspect

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
ODD = pa.schema(
    {"t.s": pa.timestamp("us", "UTC"), "a.b": pa.string(), "a`b": pa.string(), "*": pa.string(), "v.": pa.int64()}
)


def odd(*records: tuple[int, str, int]) -> pa.Table:
    """Records as (second, the one key that differs, value)."""
    rows = [
        {"t.s": BASE + timedelta(seconds=second), "a.b": key, "a`b": "x", "*": "y", "v.": value}
        for second, key, value in records
    ]
    return pa.Table.from_pylist(rows, schema=ODD)


def declared(source: Any) -> fl.Result:
    stream = fl.stream(source, time="t.s", delay="5 seconds").key_by("a.b", "a`b", "*")
    windowed = stream.window(fl.tumbling("10 seconds"), lateness="1 minute")
    return windowed.agg(**{"n.": fl.count(), "sum `of` *": fl.sum("v.")})


def test_a_name_is_one_column_whatever_is_in_it(spark: SparkSession, tmp_path: Path) -> None:
    """In a stream, its file, its state, on the command line. The progress tells the greatest time of its records."""
    bundles = [odd((1, "p", 1), (2, "q", 2), (12, "p", 4)), odd((33, "p", 8))]
    (tmp_path / "in").mkdir()
    for place, table in enumerate(bundles):
        pq.write_table(table, file := tmp_path / "in" / f"{place}.parquet")
        os.utime(file, (place, place))  # Spark reads files by their age
    source = spark.readStream.schema(from_arrow_schema(ODD)).option("maxFilesPerTrigger", 1)
    result = declared(source.parquet(str(tmp_path / "in")))
    checkpoint = str(tmp_path / "checkpoint")
    query = result.write_to(str(tmp_path / "out.jsonl"), checkpoint=checkpoint, available_now=True)
    assert query is not None
    assert query.awaitTermination(240), "the query did not end"
    operator = fl.WindowOperator(declared([]).spec, schema=ODD)
    for table in bundles:
        operator.add(table)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    fired = [(row["a.b"], row["n."], row["sum `of` *"]) for row in operator.take().to_pylist()]
    assert sorted((line["a.b"], line["n."], line["sum `of` *"]) for line in lines) == sorted(fired)
    assert sorted(fired) == [("p", 1, 1), ("p", 1, 4), ("q", 1, 2)]
    kept = inspect(checkpoint, spark=spark).windows([("p", "x", "y")]).collect()
    assert sorted(row["sum `of` *"] for row in kept) == [1, 4, 8]
    app = typer.Typer()
    app.command()(show)
    told = CliRunner().invoke(app, [checkpoint]).stdout
    assert "  window   tumbling 10 s, lateness 1 min, by a.b, a`b, *\n" in told
    assert "  trigger  at watermark late (after 1), accumulating\n" in told
    times = [progress.eventTime for progress in query.recentProgress if progress.numInputRows]
    assert [time["max"] for time in times] == ["2026-01-01T00:00:12.000Z", "2026-01-01T00:00:33.000Z"]
    assert times[1]["watermark"] == "2026-01-01T00:00:07.000Z", "Spark's own comes a batch later"


def test_columns_that_nobody_asked_for_may_differ_in_case_only(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(BASE, "x", "y", 1)], "ts timestamp, k string, K string, v bigint")
    result = fl.stream(frame, time="ts", delay="0 s").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.sum("v"))
    assert [(row["k"], row["n"]) for row in result.df.collect()] == [("x", 1)]


@pytest.mark.parametrize(
    ("keys", "aggregates"),
    [(("k", "K"), {"n": fl.count()}), (("k",), {"n": fl.count(), "N": fl.count()}), (("k",), {"Window": fl.count()})],
)
def test_result_columns_that_differ_in_case_only_are_refused(
    spark: SparkSession, keys: tuple[str, ...], aggregates: dict[str, Any]
) -> None:
    frame = spark.createDataFrame([(BASE, "x", "y")], "ts timestamp, k string, K string")
    windowed = fl.stream(frame, time="ts", delay="0 s").key_by(*keys).window(fl.tumbling("10 s"))
    with pytest.raises(fl.SpecError, match=r"differ in case only, and Spark takes them for one\. Rename one of them"):
        windowed.agg(**aggregates)


def grouped(frame: DataFrame) -> fl.Result:
    return fl.stream(frame, time="ts", delay="0 s").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count())


def test_text_with_a_collation_is_refused_and_both_remedies_work(spark: SparkSession) -> None:
    """`tea` and `TEA` are one group of Spark's where the column says UTF8_LCASE; shards compare bytes."""
    kind = "ts timestamp, k string collate UTF8_LCASE"
    frame = spark.createDataFrame([(BASE, "tea"), (BASE, "TEA")], kind)
    assert frame.groupBy("k").count().count() == 1
    with pytest.raises(fl.InputError, match=r"'k' has the collation UTF8_LCASE.*byte for byte.*lower\(col\('`k`'\)"):
        grouped(frame)
    with pytest.raises(fl.InputError, match="'k' has the collation"):
        fl.stream(frame, time="ts", delay="0 s").window(fl.tumbling("10 s")).agg(most=fl.max("k"))
    as_one = grouped(frame.withColumn("k", lower(col("`k`").cast("string"))))
    assert [(row["k"], row["n"]) for row in as_one.df.collect()] == [("tea", 2)]
    apart = grouped(frame.withColumn("k", col("`k`").cast("string")))
    assert sorted((row["k"], row["n"]) for row in apart.df.collect()) == [("TEA", 1), ("tea", 1)]
