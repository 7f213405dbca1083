"""Times too far ahead of the clock on Spark: they move no watermark there either, though records are folded first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.model.time.timestamp import START_OF_TIME, timestamp
from fanlight.spark.pack import FAR, pack_by_shard
from fanlight.spark.tester import ShardTester

from .test_pipelines import DDL, write
from .test_time import Accepted, source

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2099, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.int64()})
SPEC = fl.stream([], time="ts", delay="5 s").key_by("k").window(fl.tumbling("1 minute")).agg(n=fl.count()).spec


def batch(*times: datetime) -> pa.RecordBatch:
    return pa.record_batch([pa.array(times, pa.timestamp("us", "UTC")), [1] * len(times)], schema=SCHEMA)


def test_the_envelope_folds_around_them_and_follows_the_others() -> None:
    """Three records of noon fold to one row; the watermark is 5 s behind noon. That of 2099 travels as it is."""
    rows = batch(NOON, LATER, NOON, NOON).append_column(FAR, pa.array([None, True, False, False]))
    packed = pa.Table.from_batches(
        pack_by_shard(SPEC, SCHEMA, [0], lambda: START_OF_TIME, heartbeat=False)(iter([rows]))
    )
    assert packed.column("kind").to_pylist() == ["preaggregated", "records"]
    assert packed.column("watermark").to_pylist() == [timestamp(NOON - timedelta(seconds=5))] * 2


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
