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
from fanlight.operators.bind import bind
from fanlight.operators.shard import Shard
from fanlight.spark.far_ahead import Marks, marked, unmarked, with_marks
from fanlight.spark.pack import Packing, Sent, pack_by_shard
from fanlight.spark.processor import unpacked
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
    packed = packed_with(Marks("ts"), NOON, LATER, NOON, NOON, first_marked=LATER)
    assert packed.column("kind").to_pylist() == ["records", "preaggregated"]
    assert packed.column("watermark").to_pylist() == [timestamp(NOON - timedelta(seconds=5))] * 2


def packed_with(marks: Marks, *times: datetime, first_marked: datetime) -> pa.Table:
    rows = marked(batch(*times), "ts", pa.array([time >= first_marked for time in times]))
    pack = pack_by_shard(SPEC, SCHEMA, [0], lambda: START_OF_TIME, heartbeat=False, packing=Packing(marks=marks))
    return pa.Table.from_batches(pack(iter([rows])))


MORNING = NOON + timedelta(hours=20)
"""Of the next day: after the limit of a day that is counted from midnight, before that which is counted from noon."""


@pytest.mark.parametrize(("clock", "reached"), [(NOON, MORNING), (NOON - timedelta(hours=5), NOON)])
def test_a_shard_says_which_times_are_too_far_ahead_where_marks_go_by_the_day(
    clock: datetime, reached: datetime
) -> None:
    """Times after midnight are marked. At noon, those up to the next noon are near enough; at seven, up to seven."""
    midnight = NOON + timedelta(hours=12)
    packed = packed_with(Marks("ts", by_day=True), NOON, MORNING, LATER, *[NOON] * 9, first_marked=midnight)
    assert packed.column("kind").to_pylist() == ["records", "preaggregated", Sent.IN_DOUBT]
    assert set(packed.column("watermark").to_pylist()) == {timestamp(NOON - timedelta(seconds=5))}
    [arrival], _ = unpacked(Shard(SPEC, bound=bind(SPEC, SCHEMA)), packed.to_pylist(), (), timestamp(clock))
    assert arrival.said.watermark == timestamp(reached - timedelta(seconds=5))
    assert arrival.came is not None
    assert arrival.came.batch.column("ts").to_pylist() == [MORNING, LATER]


def test_where_all_times_are_in_doubt_records_travel_in_their_order() -> None:
    packed = packed_with(Marks("ts", by_day=True), LATER, MORNING, first_marked=MORNING)
    assert packed.column("kind").to_pylist() == ["records", Sent.IN_DOUBT]
    [arrival], preaggregated = unpacked(Shard(SPEC, bound=bind(SPEC, SCHEMA)), packed.to_pylist(), (), timestamp(NOON))
    assert arrival.came is not None
    assert preaggregated is None
    assert arrival.came.batch.column("ts").to_pylist() == [LATER, MORNING]


@pytest.mark.parametrize(
    ("ahead", "zone", "by_day"),
    [
        ("1 day", "UTC", True),
        ("7 days", "Etc/UTC", True),
        ("23 hours", "UTC", False),
        ("1 day", "Europe/Berlin", False),
    ],
)
def test_marks_go_by_the_day_where_days_are_those_of_utc_and_times_of_today_are_in_no_doubt(
    ahead: str, zone: str, by_day: bool
) -> None:
    assert Marks.of("ts", Duration.of(ahead), zone) == Marks("ts", by_day)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["ts", "a.time"])
@pytest.mark.parametrize("by_day", [False, True])
def test_marks_are_put_on_by_spark_and_taken_off_by_the_packer(spark: SparkSession, column: str, by_day: bool) -> None:
    """Whatever a time is, it comes out as it was; but one that lies where marked ones do stays just out of range."""
    now = timestamp(datetime.now(UTC))
    far = [now + 50 * HOUR, timestamp(LATER), LATEST]
    just_above = LATEST - 2**62 + 1
    near = [0, EARLIEST, now, EARLIEST - 1, LATEST + 1, END_OF_TIME, just_above]
    moved = [START_OF_TIME, now - 2**62, just_above - 1]
    times = pa.array([*far, None, *near, *moved], pa.int64()).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"n": pa.array(range(len(times))), column: times})
    frame = with_marks(spark.createDataFrame(table), Marks(column, by_day), Duration(25 * HOUR))
    assert frame.columns == ["n", column]
    [rows] = frame.toArrow().sort_by("n").combine_chunks().to_batches()
    found, since = unmarked(rows, column)
    assert since == far[0]
    assert found.column(column).cast(pa.int64()).to_pylist() == [*far, None, *near, *[just_above] * len(moved)]
    assert found.column("n").to_pylist() == list(range(len(times)))


@pytest.mark.parametrize("rows", [batch(NOON, LATER), batch()], ids=["some", "none"])
def test_rows_without_marks_are_not_copied(rows: pa.RecordBatch) -> None:
    found, since = unmarked(rows, "ts")
    assert found is rows
    assert since is None


@pytest.mark.parametrize("times", [(LATER, LATER), (NOON, LATER)], ids=["all of them", "some"])
@pytest.mark.parametrize("preaggregates", [True, False])
def test_the_shard_makes_dead_letters_of_them(times: tuple[datetime, ...], preaggregates: bool) -> None:
    tester = ShardTester(SPEC, SCHEMA, preaggregates=preaggregates)
    rows = tester.batch([batch(*times)], watermark=START_OF_TIME, clock=timestamp(NOON))
    [account] = [row for row in rows if row["kind"] == "account"]
    assert (account["received"], account["dead_letters"]) == (2, times.count(LATER))


def sums_of_seconds(spark: SparkSession, folder: Path) -> Accepted:
    taken = Accepted()
    windowed = fl.stream(source(spark, folder), time="ts", delay="0 s").key_by("k").window(fl.tumbling("1 s"))
    query = windowed.agg(n=fl.sum("v")).write_to(
        taken, checkpoint=str(folder / "checkpoint"), available_now=True, flush=True
    )
    assert query is not None
    query.awaitTermination()
    return taken


@pytest.mark.slow
def test_one_record_of_2099_and_everything_later_is_still_accepted(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is a micro-batch, whose timestamp is the clock. Windows of a day, so that today's are still open."""
    today = datetime.now(UTC)
    times = [today - timedelta(hours=1), LATER, today, today + timedelta(hours=1)]
    tables = [
        pa.table({"ts": pa.array([t], pa.timestamp("us", "UTC")), "k": ["a"], "v": [n]}) for n, t in enumerate(times)
    ]
    write(tmp_path / "in", tables)
    taken = sums_of_seconds(spark, tmp_path)
    assert sorted(taken.table["n"].to_pylist()) == [0, 2, 3]
    assert [(letter["reason"], letter["record"]["ts"]) for letter in taken.letters] == [("too_far_ahead", LATER)]
    whole = spark.read.schema(DDL).parquet(str(tmp_path / "in"))  # a batch DataFrame has no clock
    counted = fl.stream(whole, time="ts", delay="0 s").window(fl.tumbling("1 s")).agg(n=fl.count())
    assert counted.df.count() == 4


@pytest.mark.slow
def test_a_time_of_tomorrow_moves_the_watermark_of_every_shard(spark: SparkSession, tmp_path: Path) -> None:
    """Nearly a day ahead of the clock is not too far, which only the shards know. What comes then is late."""
    now = datetime.now(UTC)
    nearly = now + timedelta(days=1, seconds=-10)
    tables = [
        pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": list("ab"), "v": values})
        for times, values in [([now, nearly], [0, 1]), ([now + timedelta(hours=1), nearly], [2, 3])]
    ]
    write(tmp_path / "in", tables)
    taken = sums_of_seconds(spark, tmp_path)
    assert sorted(taken.table["n"].to_pylist()) == [0, 4]
    assert [(letter["reason"], letter["record"]["v"]) for letter in taken.letters] == [("expired", 2)]
