"""`stream.over(…).add(…)` on Spark, beside this process: the same rows in every micro-batch, letters and accounts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import fanlight as fl

from .scripted import one_batch_a_file
from .test_inputs import CHANGES, SHOP, WEB, Declared, Given, embedded, streamed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def one_at_a_time(spark: SparkSession) -> Iterator[None]:
    """Micro-batches are the test's."""
    with one_batch_a_file(spark):
        yield


def over_time(given: Given) -> Any:
    return given(delay="5 s").key_by("k").over(fl.range("20 s")).add(n=fl.count(), total=fl.sum("v"), most=fl.max("v"))


def both_sides(given: Given) -> Any:
    frame = fl.range("10 s", following="5 s", exclude="current")
    return given(delay="5 s").key_by("k").over(frame).add(mean=fl.avg("v"), middle=fl.median("v"))


def several_frames(given: Given) -> Any:
    """Ranks, rows before and after, and totals, of keys that are forgotten after a while."""
    ranked = given(delay="5 s").key_by("k").over(fl.rows(1, following=1), forget="25 s").add(near=fl.sum("v"))
    return ranked.over(fl.rows("unbounded")).add(
        number=fl.row_number(), rank=fl.rank(), before=fl.lag("v"), then=fl.lead("v"), total=fl.sum("v")
    )


def without_keys(given: Given) -> Any:
    return given(delay="5 s").over(fl.rows(2), order=fl.desc("v"), forget="never").add(first=fl.first_value("v"))


def into_windows(given: Given) -> Any:
    """The rows of a key are where its windows are made: one shard for both stages, and then one for all keys."""
    enriched = given(delay="5 s").key_by("k").over(fl.range("20 s")).add(total=fl.sum("v"))
    tens = enriched.key_by("k").window(fl.tumbling("10 s")).agg(most=fl.max("total"))
    return tens.window(fl.tumbling("30 s")).agg(most=fl.max("most"), n=fl.count())


def one_side_and_sessions(given: Given) -> Any:
    """Frames that end before the row or start after it, one that is empty, sessions, and a next row that is near."""
    before = given(delay="5 s").key_by("k").over(fl.range("20 s", following="-1 s")).add(total=fl.sum("v"))
    near = before.over(fl.rows(-1, following=2), forget="25 s").add(after=fl.count(), then=fl.lead("v", within="6 s"))
    all_before = near.over(fl.rows("unbounded", following=-2)).add(most=fl.max("v"), last=fl.last_value("v"))
    return all_before.over(fl.session_frame("8 s")).add(session=fl.list("v"))


def in_windows(given: Given) -> Any:
    """Partitions of keys and windows: any order, functions of whole partitions, and a stage by time after them."""
    tens = given(delay="5 s").key_by("k").window(fl.hopping("20 s", every="10 s"), lateness="5 s")
    ranked = tens.over(order=fl.desc("v")).add(place=fl.rank(), share=fl.percent_rank(), part=fl.ntile(2))
    whole = ranked.over(fl.rows("unbounded", following="unbounded")).add(middle=fl.median("v"), n=fl.count())
    return whole.key_by("k").window(fl.tumbling("30 s")).agg(places=fl.list("place"), most=fl.max("middle"))


def in_sessions(given: Given) -> Any:
    """Windows that each key has for itself, looked over in the order of time."""
    return (
        given(delay="5 s")
        .key_by("k")
        .window(fl.session("15 s"))
        .over()
        .add(total=fl.sum("v"), dist=fl.cume_dist(), near=fl.lead("v", within="6 s"))
    )


def as_they_come(given: Given) -> Any:
    last = given(delay="5 s").key_by("k").over(fl.range("20 s")).add(n=fl.count(), total=fl.sum("v"))
    return last.over(fl.rows(1), forget="25 s").add(number=fl.row_number(), before=fl.lag("v")).eager()


def kept_up_to_date(given: Given) -> Any:
    """A record of 17 comes when the watermark is at 31, and corrects; one of 2 is too late for that."""
    both = given(delay="0 s").select("ts", "k", "v").key_by("k").over(fl.range("20 s", following="10 s"))
    corrected = both.add(n=fl.count(), total=fl.sum("v")).retracting(retention="15 s")
    return corrected.key_by("k").window(fl.tumbling("30 s")).agg(rows=fl.count(), most=fl.max("total"))


def in_another_order(given: Given) -> Any:
    """The greatest first, of the last half minute; what is older is taken back."""
    rows = given(delay="0 s").select("ts", "k", "v").over(fl.rows(1), by=fl.desc("v"))
    return rows.add(rank=fl.rank(), then=fl.lead("v"), near=fl.sum("v")).retracting(retention="15 s")


@pytest.mark.parametrize(
    "declared",
    [
        *(over_time, both_sides, several_frames, without_keys, into_windows),
        *(one_side_and_sessions, in_windows, in_sessions),
        *(as_they_come, kept_up_to_date, in_another_order),
    ],
)
def test_a_query_gives_what_this_process_gives(spark: SparkSession, tmp_path: Path, declared: Declared) -> None:
    expected = embedded(declared, only=WEB)
    assert expected.letters
    assert sum(map(len, expected.rows)) > 2
    assert streamed(spark, tmp_path, declared, only=WEB) == expected


def test_so_it_does_over_two_inputs(spark: SparkSession, tmp_path: Path) -> None:
    def declared(given: Given) -> Any:
        union = fl.union(web=given("web", delay="5 s"), shop=given("shop", delay="5 s"))
        return union.where(fl.col("v") > 0).key_by("k").over(fl.range("20 s")).add(n=fl.count(), total=fl.sum("v"))

    expected = embedded(declared, web=WEB, shop=SHOP)
    assert streamed(spark, tmp_path, declared, web=WEB, shop=SHOP) == expected


def test_so_it_does_over_changes_that_move_rows_between_keys(spark: SparkSession, tmp_path: Path) -> None:
    def declared(given: Given) -> Any:
        orders = given(op="op", unique="id", operations={"u": "+U"}, delay="1 minute").key_by("k")
        running = orders.over(fl.rows("unbounded"), forget="never").add(number=fl.row_number(), total=fl.sum("v"))
        return running.retracting(retention="1 hour")

    expected = embedded(declared, only=CHANGES)
    assert streamed(spark, tmp_path, declared, only=CHANGES) == expected
    assert {row["op"] for step in expected.rows for row in step} == {"+I", "-U", "+U", "-D"}


def test_a_batch_data_frame_is_one_bundle(spark: SparkSession) -> None:
    rows = [(f"2026-01-01 00:00:{second:02d}", key, second) for second, key in ((9, "a"), (1, "a"), (4, "b"), (7, "a"))]
    frame = spark.createDataFrame(rows, "ts string, k string, v int").selectExpr(
        "cast(ts AS timestamp) AS ts", "k", "v"
    )
    result = (
        fl.stream(frame, time="ts", delay="0 s").key_by("k").over(fl.range("3 s")).add(n=fl.count(), total=fl.sum("v"))
    )
    found = sorted((row["k"], row["v"], row["n"], row["total"]) for row in result.df.collect())
    assert found == [("a", 1, 1, 1), ("a", 7, 1, 7), ("a", 9, 2, 16), ("b", 4, 1, 4)]
