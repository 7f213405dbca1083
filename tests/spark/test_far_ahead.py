"""Times too far ahead of the clock on Spark: they move no watermark there either, though records are folded first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, timestamp
from fanlight.spark.far_ahead import marked, parted, with_marks
from fanlight.spark.pack import Packing, pack_by_shard
from fanlight.spark.tester import ShardTester

from .test_pipelines import DDL, write
from .test_time import Accepted, source

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3_600_000_000
LATER = datetime(2099, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.int64()})
SPEC = fl.stream([], time="ts", delay="5 s").key_by("k").window(fl.tumbling("1 minute")).agg(n=fl.count()).spec


def batch(*times: datetime) -> pa.RecordBatch:
    return pa.record_batch([pa.array(times, pa.timestamp("us", "UTC")), [1] * len(times)], schema=SCHEMA)


def test_the_envelope_folds_around_them_and_follows_the_others() -> None:
    """Three records of noon fold to one row; the watermark is 5 s behind noon. That of 2099 travels as it is."""
    rows = marked(batch(NOON, LATER, NOON, NOON), "ts", pa.array([False, True, False, False]))
    pack = pack_by_shard(SPEC, SCHEMA, [0], lambda: START_OF_TIME, heartbeat=False, packing=Packing(marked="ts"))
    packed = pa.Table.from_batches(pack(iter([rows])))
    assert packed.column("kind").to_pylist() == ["preaggregated", "records"]
    assert packed.column("watermark").to_pylist() == [timestamp(NOON - timedelta(seconds=5))] * 2


@pytest.mark.slow
@pytest.mark.parametrize("column", ["ts", "a.time"])
def test_marks_are_put_on_by_spark_and_taken_off_by_the_packer(spark: SparkSession, column: str) -> None:
    """Whatever a time is, it comes out as it was; but one that lies where marked ones do stays just out of range."""
    now = timestamp(datetime.now(UTC))
    far = [now + 2 * HOUR, timestamp(LATER), LATEST]
    just_above = LATEST - 2**62 + 1
    near = [0, EARLIEST, now, EARLIEST - 1, LATEST + 1, END_OF_TIME, just_above]
    moved = [START_OF_TIME, now - 2**62, just_above - 1]
    times = pa.array([*far, None, *near, *moved], pa.int64()).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"n": pa.array(range(len(times))), column: times})
    frame = with_marks(spark.createDataFrame(table), column, Duration(HOUR))
    assert frame.columns == ["n", column]
    [rows] = frame.toArrow().sort_by("n").combine_chunks().to_batches()
    others, apart = parted(rows, column)
    assert apart is not None
    assert apart.column(column).cast(pa.int64()).to_pylist() == far
    assert others.column(column).cast(pa.int64()).to_pylist() == [None, *near, *[just_above] * len(moved)]
    assert others.column("n").to_pylist() == list(range(len(far), len(times)))


def test_rows_without_marks_are_not_copied() -> None:
    rows = batch(NOON, LATER)
    assert parted(rows, "ts") == (rows, None)
    assert parted(rows.slice(0, 0), "ts") == (rows.slice(0, 0), None)


@pytest.mark.parametrize("times", [(LATER, LATER), (NOON, LATER)], ids=["all of them", "some"])
@pytest.mark.parametrize("preaggregates", [True, False])
def test_the_shard_makes_dead_letters_of_them(times: tuple[datetime, ...], preaggregates: bool) -> None:
    tester = ShardTester(SPEC, SCHEMA, preaggregates=preaggregates)
    rows = tester.batch([batch(*times)], watermark=START_OF_TIME, clock=timestamp(NOON))
    [account] = [row for row in rows if row["kind"] == "account"]
    assert (account["received"], account["dead_letters"]) == (2, times.count(LATER))


@pytest.mark.slow
def test_one_record_of_2099_and_everything_later_is_still_accepted(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is a micro-batch, whose timestamp is the clock. Windows of a day, so that today's are still open."""
    taken = Accepted()
    today = datetime.now(UTC)
    times = [today - timedelta(hours=1), LATER, today, today + timedelta(hours=1)]
    tables = [
        pa.table({"ts": pa.array([t], pa.timestamp("us", "UTC")), "k": ["a"], "v": [n]}) for n, t in enumerate(times)
    ]
    write(tmp_path / "in", tables)
    windowed = fl.stream(source(spark, tmp_path), time="ts", delay="0 s").key_by("k").window(fl.tumbling("1 s"))
    query = windowed.agg(n=fl.sum("v")).write_to(
        taken, checkpoint=str(tmp_path / "checkpoint"), available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination()
    assert sorted(taken.table["n"].to_pylist()) == [0, 2, 3]
    assert [(letter["reason"], letter["record"]["ts"]) for letter in taken.letters] == [("too_far_ahead", LATER)]
    whole = spark.read.schema(DDL).parquet(str(tmp_path / "in"))  # a batch DataFrame has no clock
    counted = fl.stream(whole, time="ts", delay="0 s").window(fl.tumbling("1 s")).agg(n=fl.count())
    assert counted.df.count() == 4
