"""A checkpoint says whose it is: another pipeline is refused before anything is touched."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import fanlight as fl
from fanlight.operators.fingerprint import FORMAT, fingerprint, require_same
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.lease import Lease
from fanlight.spark.checkpoint.manifest import LOCK, MANIFEST, Manifest, guard, read_manifest

pytestmark = pytest.mark.slow

DDL = "ts timestamp, k string, v bigint"
BASE = datetime(2026, 1, 1, tzinfo=UTC)


class Longest(fl.UserAggregate):
    """The length of the longest text."""

    state_type = pa.int64()
    output_type = pa.int64()

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: str) -> int:
        return max(state, len(value))

    def merge(self, left: int, right: int) -> int:
        return max(left, right)

    def finish(self, state: int) -> int:
        return state


def windowed(frame: DataFrame, every: str = "5 seconds", delay: str = "5 seconds", **aggregates: Any) -> fl.Result:
    return (
        fl.stream(frame, time="ts", delay=delay)
        .key_by("k")
        .window(fl.hopping("20 seconds", every=every))
        .agg(**(aggregates or {"n": fl.count()}))
    )


def source(spark: SparkSession, folder: Path, ddl: str = DDL) -> DataFrame:
    """A stream of one small file."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    table = pa.table({"ts": pa.array([BASE, BASE + timedelta(seconds=7)], pa.timestamp("us", "UTC")), "k": ["a", "b"]})
    pq.write_table(table.append_column("v", pa.array([1, 2])), folder / "in" / "0.parquet")
    return spark.readStream.schema(ddl).parquet(str(folder / "in"))


def manifest(result: fl.Result) -> Manifest:
    return Manifest.of(result.on_spark("test"))


def begin(folder: Path) -> None:
    """What Spark leaves behind when it begins a batch."""
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / "0").write_text("v1")


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def checkpoint(spark: SparkSession, tmp_path: Path) -> Path:
    """A checkpoint that a query of `windowed` began and left."""
    folder = tmp_path / "checkpoint"
    guard(folder, manifest(windowed(source(spark, tmp_path)))).release()
    begin(folder)
    return folder


def test_a_new_checkpoint_gets_a_manifest_from_which_the_pipeline_can_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    result = windowed(source(spark, tmp_path))
    guard(tmp_path / "checkpoint", manifest(result)).release()
    found = read_manifest(Folder.of(tmp_path / "checkpoint"))
    assert found == manifest(result)
    assert found.stages[0].looked_into() == result.spec
    assert found.stages[0].schema() == result.on_spark("test").bound.schema
    assert set(everything(tmp_path / "checkpoint")) == {MANIFEST, LOCK}


def test_the_same_pipeline_goes_on(spark: SparkSession, tmp_path: Path, checkpoint: Path) -> None:
    before = everything(checkpoint)
    guard(checkpoint, manifest(windowed(source(spark, tmp_path)))).release()
    assert everything(checkpoint) == before


Change = Callable[[SparkSession, Path], fl.Result]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            lambda spark, folder: windowed(source(spark, folder), every="10 seconds"),
            r"window: hopping 20 s every 5 s before, hopping 20 s every 10 s now\nDeclare the pipeline as it was\.",
        ),
        (
            lambda spark, folder: windowed(source(spark, folder), n=fl.count(), total=fl.sum("v")),
            r"aggregates\.total: none before, sum v now",
        ),
        (
            lambda spark, folder: windowed(source(spark, folder), n=Longest("k")),
            r"aggregates\.n: count before, Longest k state int64 output int64 now",
        ),
        (
            lambda spark, folder: windowed(source(spark, folder, f"{DDL}, price double")),
            r"input column price: none before, double now\nGive it the columns it had, as in df\.select\('ts', 'k'",
        ),
        (
            lambda spark, folder: windowed(source(spark, folder, "ts timestamp, k string, v int")),
            r"input column v: int64 before, int32 now",
        ),
        (
            lambda spark, folder: windowed(source(spark, folder)).rewindow().agg(most=fl.max("n")),
            r"stages: 1 before, 2 now",
        ),
    ],
)
def test_a_changed_pipeline_is_refused_by_what_has_changed(
    spark: SparkSession, tmp_path: Path, checkpoint: Path, changed: Change, told: str
) -> None:
    before = everything(checkpoint)
    with pytest.raises(fl.StateError, match=told):
        guard(checkpoint, manifest(changed(spark, tmp_path)))
    assert everything(checkpoint) == before


def test_a_changed_partition_count_is_refused_with_the_number_it_was(
    spark: SparkSession, tmp_path: Path, checkpoint: Path
) -> None:
    """Spark keeps the number a checkpoint began with, whatever the session says; keys would go to other shards."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "3")
    with pytest.raises(
        fl.StateError, match=r"partitions: 2 before, 3 now\nSet spark.sql.shuffle.partitions to 2"
    ) as said:
        guard(checkpoint, manifest(windowed(source(session, tmp_path))))
    assert "shards" not in str(said.value)


def test_the_delay_may_change_and_the_manifest_says_the_new_one(
    spark: SparkSession, tmp_path: Path, checkpoint: Path
) -> None:
    result = windowed(source(spark, tmp_path), delay="1 minute")
    guard(checkpoint, manifest(result)).release()
    found = read_manifest(Folder.of(checkpoint))
    assert found is not None
    assert found.stages[0].looked_into() == result.spec


def test_a_query_that_began_no_batch_leaves_the_checkpoint_new(spark: SparkSession, tmp_path: Path) -> None:
    """It failed to start, say for an unwritable sink; there is no state that another pipeline could mistake."""
    guard(tmp_path / "checkpoint", manifest(windowed(source(spark, tmp_path)))).release()
    changed = manifest(windowed(source(spark, tmp_path), every="10 seconds"))
    guard(tmp_path / "checkpoint", changed).release()
    assert read_manifest(Folder.of(tmp_path / "checkpoint")) == changed


def test_a_checkpoint_that_write_to_did_not_begin_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    begin(tmp_path / "checkpoint")
    with pytest.raises(fl.StateError, match=r"write_to did not start.*Go on as it was begun, with \.df\.writeStream"):
        guard(tmp_path / "checkpoint", manifest(windowed(source(spark, tmp_path))))
    assert list(everything(tmp_path / "checkpoint")) == ["offsets/0"]


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-40], lambda text: text.replace('"k"', '"x"'), lambda text: "[]"]
)
def test_a_damaged_manifest_is_noticed(
    spark: SparkSession, tmp_path: Path, checkpoint: Path, damage: Callable[[str], str]
) -> None:
    file = checkpoint / MANIFEST
    file.write_text(damage(file.read_text()))
    with pytest.raises(fl.StateError, match=r"damaged fanlight/manifest\.json.*Restore that file"):
        guard(checkpoint, manifest(windowed(source(spark, tmp_path))))


@pytest.mark.parametrize("version", [1, FORMAT + 1])
def test_a_manifest_of_another_fanlight_is_refused(
    spark: SparkSession, tmp_path: Path, checkpoint: Path, version: int
) -> None:
    file = checkpoint / MANIFEST
    content = json.loads(file.read_text())["manifest"] | {"format": version}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    file.write_text(json.dumps({"manifest": content, "checksum": hashlib.sha256(text.encode()).hexdigest()}))
    with pytest.raises(
        fl.StateError, match=rf"format version {version}; this Fanlight reads version {FORMAT}\. Use the Fanlight"
    ):
        guard(checkpoint, manifest(windowed(source(spark, tmp_path))))


def test_a_checkpoint_that_cannot_be_reached_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(fl.EngineError, match="'nowhere://host/checkpoint' cannot be reached from here"):
        guard("nowhere://host/checkpoint", manifest(windowed(source(spark, tmp_path))))


def test_a_shard_knows_its_pipeline_without_a_manifest(spark: SparkSession, tmp_path: Path) -> None:
    one, other = (
        windowed(source(spark, tmp_path), every=every).on_spark("test") for every in ("5 seconds", "10 seconds")
    )
    known = json.loads(json.dumps(fingerprint(one.spec, one.bound.schema, one.ids)))
    require_same(known, fingerprint(one.spec, one.bound.schema, one.ids))
    with pytest.raises(fl.StateError, match=r"This state was written by another pipeline:\n  window: hopping 20 s"):
        require_same(known, fingerprint(other.spec, other.bound.schema, other.ids))
    with pytest.raises(fl.StateError, match=r"shards: 0, 2 before, 0, 1, 2 now\nSet spark\.sql\.shuffle\.partitions"):
        require_same({**known, "shards": [0, 2]}, {**known, "shards": [0, 1, 2]})


def started(result: fl.Result, folder: Path) -> StreamingQuery:
    """A query on the checkpoint in `folder` that runs until it is stopped."""
    lease = guard(folder / "checkpoint", manifest(result))
    writing = result.df.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    query = writing.trigger(processingTime="100 milliseconds").start()
    lease.follow(query)
    return query


def test_a_second_query_is_refused_while_the_first_one_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would stop the first one."""
    result = windowed(source(spark, tmp_path))
    query = started(result, tmp_path)
    try:
        with pytest.raises(fl.StateError, match=r"running on the checkpoint .* already, in this process"):
            guard(tmp_path / "checkpoint", manifest(result))
        assert query.isActive
    finally:
        query.stop()
    guard(tmp_path / "checkpoint", manifest(result)).release()


def test_a_query_that_failed_holds_nobody_back(spark: SparkSession, tmp_path: Path) -> None:
    class Failed:
        """A query that ended while nobody looked."""

        isActive = False  # noqa: N815 -- PySpark's name

        def awaitTermination(self, timeout: int | None = None) -> bool:  # noqa: N802 -- PySpark's name
            time.sleep(60)
            return True

    lease = Lease.take(tmp_path / LOCK)
    lease.follow(Failed())
    Lease.take(tmp_path / LOCK).release()


def test_a_query_of_another_process_is_refused_until_that_process_is_gone(tmp_path: Path) -> None:
    """Killed, it takes the lock with it."""
    program = (
        "import sys, time; from pathlib import Path; from fanlight.spark.checkpoint.lease import Lease; "
        "lease = Lease.take(Path(sys.argv[1])); print('held', flush=True); time.sleep(600)"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / LOCK)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(fl.StateError, match=f"already, in process {other.pid}"):
            Lease.take(tmp_path / LOCK)
    finally:
        other.kill()
        other.wait()
        assert other.stdout is not None
        other.stdout.close()
    Lease.take(tmp_path / LOCK).release()


@pytest.mark.parametrize("written", ["{}", "file:{}", "file://{}"])
def test_a_folder_is_what_spark_means_by_it(tmp_path: Path, written: str) -> None:
    folder = Folder.of(written.format(tmp_path))
    assert folder.local == tmp_path
    assert folder.read("a/b") is None
    folder.write("a/b", b"c")
    assert folder.read("a/b") == b"c"
    assert folder.names("a") == ["b"]
    assert folder.names("nothing") == []
