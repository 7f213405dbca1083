"""How time ends and how it passes without data: a flush, the clock's windows, a heartbeat."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import fanlight as fl

from .test_pipelines import BUNDLES, DDL, IN_TIME, bundle, hopping_late, plain, tumbling, write

pytestmark = pytest.mark.slow

PATIENCE = 300
"""Seconds after which a firing that should come is taken to be lost."""


class Accepted:
    """What a query hands to a function, kept."""

    def __init__(self) -> None:
        self.rows: list[pa.Table] = []
        self.letters: list[Any] = []

    def __call__(self, rows: pa.Table, batch: Any) -> None:
        self.rows.append(rows)
        self.letters += batch.dead_letters.to_pylist()

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.rows)


def source(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))


def test_a_flush_ends_the_input_and_what_comes_after_it_is_too_late(spark: SparkSession, tmp_path: Path) -> None:
    taken = Accepted()
    options = {"checkpoint": str(tmp_path / "checkpoint"), "available_now": True}
    write(tmp_path / "in", BUNDLES)
    query = tumbling(source(spark, tmp_path)).write_to(taken, flush=True, **options)
    assert query is not None
    query.awaitTermination()
    assert plain(taken.table) == plain(tumbling(IN_TIME).table())
    write(tmp_path / "in", [bundle((500, "z", 1))], start=len(BUNDLES))
    query = tumbling(source(spark, tmp_path)).write_to(taken, **options)
    assert query is not None
    query.awaitTermination()
    assert [letter["record"]["k"] for letter in taken.letters] == ["a", "a", "z"]


def test_a_flush_reaches_every_stage(spark: SparkSession, tmp_path: Path) -> None:
    taken = Accepted()
    write(tmp_path / "in", BUNDLES[:2])
    totals = tumbling(source(spark, tmp_path)).rewindow().agg(n=fl.sum("n"))
    query = totals.write_to(taken, checkpoint=str(tmp_path / "checkpoint"), available_now=True, flush=True)
    assert query is not None
    query.awaitTermination()
    expected = tumbling(pa.concat_tables(BUNDLES[:2])).rewindow().agg(n=fl.sum("n")).table()
    assert plain(taken.table) == plain(expected)


def test_windows_of_the_clock_take_every_record_once(spark: SparkSession, tmp_path: Path) -> None:
    taken = Accepted()
    write(tmp_path / "in", BUNDLES)
    stream = fl.stream(source(spark, tmp_path), time="ts", delay="0 s").key_by("k")
    counts = stream.window(fl.tumbling("1 second", domain="processing")).agg(n=fl.count())
    query = counts.write_to(taken, checkpoint=str(tmp_path / "checkpoint"), available_now=True, flush=True)
    assert query is not None
    query.awaitTermination()
    table = taken.table
    assert sum(table["n"].to_pylist()) == sum(len(one) for one in BUNDLES)
    assert min(window["start"].year for window in table["window"].to_pylist()) >= 2026


def test_the_clock_fires_in_a_period_without_data(spark: SparkSession, tmp_path: Path) -> None:
    taken = Accepted()
    write(tmp_path / "in", BUNDLES[:1])
    stream = fl.stream(source(spark, tmp_path), time="ts", delay="0 s").key_by("k").window(fl.tumbling("1 day"))
    early = stream.trigger(fl.at_watermark(early=fl.every("2 seconds"))).agg(n=fl.count())
    query = early.write_to(taken, checkpoint=str(tmp_path / "checkpoint"))
    assert query is not None
    try:
        deadline = time.monotonic() + PATIENCE
        while sum(len(rows) for rows in taken.rows) < 3:
            assert query.isActive, query.exception()
            assert time.monotonic() < deadline, "no heartbeat"
            time.sleep(0.1)
    finally:
        query.stop()
    assert {(row["k"], row["n"], row["pane"]["timing"]) for row in taken.table.to_pylist()} == {
        ("a", 3, "EARLY"),
        ("b", 1, "EARLY"),
        (None, 1, "EARLY"),
    }


def test_a_batch_dataframe_has_no_clock(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], DDL)
    with pytest.raises(fl.SpecError, match="no clock"):
        fl.stream(frame, time="ts", delay="0 s").window(fl.tumbling("1 s", domain="processing")).agg(n=fl.count())


def test_flush_belongs_to_available_now(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", BUNDLES[:1])
    with pytest.raises(fl.SpecError, match="available_now=True"):
        hopping_late(source(spark, tmp_path)).write_to(print, checkpoint=str(tmp_path / "c"), flush=True)


def test_a_shard_without_records_acts_on_the_watermark_too(spark: SparkSession, tmp_path: Path) -> None:
    """Whether a record is too late must not depend on the shard its key belongs to."""
    taken = Accepted()
    write(tmp_path / "in", [bundle((100, "a", 1)), bundle((101, "a", 2)), bundle(*((3, key, 3) for key in "abcdefgh"))])
    stream = fl.stream(source(spark, tmp_path), time="ts", delay="0 s").key_by("k").window(fl.tumbling("10 s"))
    query = stream.agg(n=fl.count()).write_to(taken, checkpoint=str(tmp_path / "checkpoint"), available_now=True)
    assert query is not None
    query.awaitTermination()
    assert sorted(letter["record"]["k"] for letter in taken.letters) == list("abcdefgh")


def test_a_time_that_no_window_has_does_not_move_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "in", [bundle((1, "a", 1)), bundle((2, "a", 2)), bundle((15, "a", 3)), bundle((40, "a", 4))])
    far = "CASE WHEN v = 1 THEN timestamp_micros(400000000000000000) ELSE ts END"  # in the year 14645
    frame = source(spark, tmp_path).selectExpr(f"{far} AS ts", "k", "v")
    counts = fl.stream(frame, time="ts", delay="0 s").key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count())
    file = tmp_path / "totals.db"
    query = counts.write_to(f"sqlite:///{file}", table="t", checkpoint=str(tmp_path / "checkpoint"), available_now=True)
    assert query is not None
    query.awaitTermination()
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT reason FROM t_dead_letters").fetchall() == [("time_out_of_range",)]
        assert database.execute("SELECT n FROM t").fetchall() == [(1,), (1,)]
