"""What a checkpoint holds is what the standalone operator holds that is fed the same bundles."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from pyspark.sql import DataFrame, SparkSession, functions
from typer.testing import CliRunner, Result

import fanlight as fl
from fanlight.cli.inspect import inspect as show
from fanlight.operators.window.query_state import StateQuery
from fanlight.spark.checkpoint.inspection import Inspection, inspect
from fanlight.spark.checkpoint.manifest import Manifest, guard
from fanlight.spark.session import PROVIDER
from fanlight.spark.write import durable_id

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
DDL = "ts timestamp, k string, v bigint"
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int64()})


def bundle(*records: tuple[int, str | None, int | None]) -> pa.Table:
    """Records as (second, key, value)."""
    rows = [{"ts": BASE + timedelta(seconds=second), "k": key, "v": value} for second, key, value in records]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


BUNDLES = [
    bundle((1, "a", 1), (4, "b", 2), (9, "a", None), (11, None, 4), (3, "c", 5)),
    bundle((25, "a", 6), (8, "b", 7), (14, "c", 8), (26, None, 9)),
    bundle((44, "a", 10), (31, "b", 11), (17, "a", 12), (45, "c", 13)),
]
"""With a delay of 5 s the last watermark is 40: [10, 20) has expired, [30, 40) has closed, [40, 50) is open."""


def longest(column: str) -> fl.UserAggregate:
    """The length of the longest text. Made here, so that Spark sends the class along, as that of a notebook."""

    class Longest(fl.UserAggregate):
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

    return Longest(column)


def retained(source: Any) -> fl.Result:
    return (
        fl.stream(source, time="ts", delay="5 seconds")
        .key_by("k")
        .window(fl.tumbling("10 seconds"), lateness="15 seconds", retention=fl.retention("1 hour", messages=True))
        .agg(n=fl.count(), total=fl.sum("v"), middle=fl.median("v"))
    )


def once(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k")
    return stream.window(fl.hopping("20 seconds", every="5 seconds")).agg(n=fl.count(), total=fl.sum("v"))


def by_hand(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds")
    return stream.window(fl.tumbling("10 seconds")).agg(longest=longest("k"))


Declared = Callable[[Any], fl.Result]


@dataclass
class Ran:
    """A query that has run on `bundles`, one a micro-batch, and stopped."""

    spark: SparkSession
    folder: Path
    declared: Declared

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def pipeline(self, per_batch: int = 1) -> fl.Result:
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", per_batch)
        return self.declared(reader.parquet(str(self.folder / "in")))

    def run(self, *, manifest: bool = True) -> Ran:
        (self.folder / "in").mkdir(parents=True)
        for number, table in enumerate(BUNDLES):
            file = self.folder / "in" / f"{number}.parquet"
            pq.write_table(table, file)
            os.utime(file, (1_700_000_000 + number,) * 2)
        result = self.pipeline()
        if manifest:
            guard(self.checkpoint, Manifest.of(result.on_spark("test"))).release()
        writing = result.df.writeStream.format("noop").option("checkpointLocation", str(self.checkpoint))
        assert writing.trigger(availableNow=True).start().awaitTermination(240), "the query did not end"
        return self

    def operator(self) -> fl.WindowOperator:
        """The standalone operator over the same bundles."""
        operator = fl.WindowOperator(self.declared([]).spec, schema=SCHEMA)
        for table in BUNDLES:
            operator.add(table)
        return operator


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(spark, tmp_path_factory.mktemp("retained"), retained).run()


@pytest.fixture(scope="module")
def seen(ran: Ran) -> Inspection:
    return inspect(ran.checkpoint)


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return plain(frame.toArrow())


def plain(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


def test_windows_are_those_of_the_standalone_operator(ran: Ran, seen: Inspection) -> None:
    found = rows(seen.windows())
    assert found == plain(ran.operator().windows())
    assert {row["pane"]["status"] for row in found} == {"open", "closed", "expired"}


def test_messages_are_those_of_the_standalone_operator(ran: Ran, seen: Inspection) -> None:
    assert rows(seen.messages()) == plain(ran.operator().messages())


def test_windows_of_panes_that_fire_once_are_read_off_their_slices(spark: SparkSession, tmp_path: Path) -> None:
    ran = Ran(spark, tmp_path, once).run()
    found = inspect(ran.checkpoint)
    assert rows(found.windows()) == plain(ran.operator().windows())
    start, end = BASE + timedelta(seconds=41), BASE + timedelta(seconds=46)
    assert rows(found.windows(start=start, end=end)) == plain(ran.operator().windows(start, end))
    with pytest.raises(fl.EngineError, match="keeps no messages"):
        found.messages()


@pytest.mark.parametrize("kind", [fl.session("6 seconds"), fl.sliding("6 seconds"), fl.tumbling("10 seconds")])
def test_messages_are_kept_and_found_by_offset_whatever_the_windows(
    spark: SparkSession, tmp_path: Path, kind: fl.WindowKind
) -> None:
    """The values stand for the offsets; 7 is the first that is not below 7, and null is none."""

    def declared(source: Any) -> fl.Result:
        stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k")
        kept = fl.retention("25 seconds", messages=True, offsets="v")
        return stream.window(kind, retention=kept).agg(n=fl.count())

    ran = Ran(spark, tmp_path, declared).run()
    found, operator = inspect(ran.checkpoint), ran.operator()
    assert rows(found.windows()) == plain(operator.windows())
    assert rows(found.messages()) == plain(operator.messages())
    by_offset = {"start_offset": 7, "end_offset": 12}
    assert rows(found.messages(**by_offset)) == plain(operator.messages(**by_offset)) != []


def test_offsets_that_are_not_kept_are_not_asked_for(seen: Inspection) -> None:
    with pytest.raises(fl.EngineError, match="keeps no offsets"):
        seen.messages(start_offset=1)


@pytest.mark.parametrize("keys", ["a", (None,), ["b", "c"], "nobody"])
def test_some_keys_are_asked_for(ran: Ran, seen: Inspection, keys: Any) -> None:
    wanted = keys if isinstance(keys, list) else [keys]
    names = [key[0] if isinstance(key, tuple) else key for key in wanted]
    assert rows(seen.windows(keys)) == [row for row in rows(seen.windows()) if row["k"] in names]
    assert rows(seen.messages(keys)) == [row for row in rows(seen.messages()) if row["k"] in names]


@pytest.mark.parametrize(("start", "end"), [(10, 30), (None, 12), (39, None), (50, 60), (-100, -50)])
def test_a_range_of_time_is_asked_for(ran: Ran, seen: Inspection, start: int | None, end: int | None) -> None:
    span = [None if side is None else BASE + timedelta(seconds=side) for side in (start, end)]
    assert rows(seen.windows(None, *span)) == plain(ran.operator().windows(*span))
    assert rows(seen.messages(None, *span)) == plain(ran.operator().messages(*span))


def test_chunks_that_cannot_matter_are_not_opened(ran: Ran, seen: Inspection) -> None:
    """A window of its own needs its panes and its records; the key alone needs one shard of the two."""
    start = BASE + timedelta(seconds=30)
    every = seen.chunks_of(StateQuery(), messages=False).count()
    of_a_window = seen.chunks_of(StateQuery.of(seen.plan, start, start + timedelta(seconds=1)), messages=False)
    assert 0 < of_a_window.where("space != 'index'").count() < every / 3
    of_a_key = seen.chunks_of(StateQuery.of(seen.plan, None, None, "a"), messages=False)
    assert of_a_key.select("shard").distinct().count() == 1
    spaces = seen.chunks_of(StateQuery(), messages=True).select("space").distinct().collect()
    assert {row[0] for row in spaces} == {"index", "records"}


def test_a_key_of_the_wrong_kind_is_refused(seen: Inspection) -> None:
    with pytest.raises(fl.InputError, match=r"`key` \(\('a', 1\)\) has 2 values.*keyed by k"):
        seen.windows(("a", 1))
    with pytest.raises(fl.InputError, match="5 is no value of the key 'k', which is string"):
        seen.messages(5)


def test_the_accounts_add_up(ran: Ran, seen: Inspection) -> None:
    sums = seen.accounting().agg(*(functions.sum(count) for count in ("received", "accepted", "dead_letters"))).first()
    counts = ran.operator().accounting
    assert sums is not None
    assert tuple(sums) == (counts.received, counts.accepted, counts.dead_letters) == (13, 13, 0)
    watermarks = {row["watermark"] for row in rows(seen.accounting().select("watermark"))}
    assert watermarks == {BASE + timedelta(seconds=40)}
    assert seen.batch == 3  # three with a file, one that only moves the watermark
    assert seen.manifest is not None


def test_a_running_query_is_read_as_of_its_last_batch(ran: Ran, seen: Inspection) -> None:
    result = ran.pipeline()
    writing = result.df.writeStream.format("noop").option("checkpointLocation", str(ran.checkpoint))
    query = writing.trigger(processingTime="1 hour").start()
    try:
        assert query.isActive
        assert rows(inspect(ran.checkpoint).windows()) == rows(seen.windows())
    finally:
        query.stop()


def test_a_session_needs_no_settings_to_look(ran: Ran, seen: Inspection) -> None:
    session = ran.spark.newSession()
    session.conf.set(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    session.conf.set("spark.sql.shuffle.partitions", "5")
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    found = inspect(ran.checkpoint, spark=session)
    for frame, expected in ((found.windows("a"), seen.windows("a")), (found.messages(), seen.messages())):
        assert [str(row) for row in rows(frame)] != []
        assert instants(rows(frame)) == instants(rows(expected))


def instants(found: list[dict[str, Any]]) -> list[Any]:
    """Rows with their times as seconds: the zone they are shown in is the session's."""

    def told(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: told(part) for name, part in value.items()}
        return value.timestamp() if isinstance(value, datetime) else value

    return sorted((told(row) for row in found), key=repr)


def test_python_code_is_not_in_a_checkpoint_and_the_pipeline_brings_it(spark: SparkSession, tmp_path: Path) -> None:
    ran = Ran(spark, tmp_path, by_hand).run()
    with pytest.raises(fl.SpecError, match=r"Longest is made of Python code.*Give the pipeline itself"):
        inspect(ran.checkpoint)
    found = inspect(ran.checkpoint, ran.pipeline().on_spark("test"))
    assert rows(found.windows()) == plain(ran.operator().windows())


def test_without_a_manifest_the_pipeline_says_what_the_state_means(spark: SparkSession, tmp_path: Path) -> None:
    ran = Ran(spark, tmp_path, retained).run(manifest=False)
    with pytest.raises(fl.StateError, match=r"no manifest.*as in inspect\(checkpoint, pipeline\)"):
        inspect(ran.checkpoint)
    found = inspect(ran.checkpoint, ran.pipeline().on_spark("test"))
    assert found.manifest is None
    assert rows(found.windows("a")) == [row for row in plain(ran.operator().windows()) if row["k"] == "a"]


def test_each_stage_of_a_pipeline_has_a_state_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    ran = Ran(spark, tmp_path, lambda source: once(source).rewindow().agg(most=fl.max("n"))).run()
    first, last = inspect(ran.checkpoint, stage=1), inspect(ran.checkpoint)
    assert [name for name, _ in first.spec.aggregates] == ["n", "total"]
    assert [name for name, _ in last.spec.aggregates] == ["most"]
    assert rows(first.windows()) == plain(Ran(spark, tmp_path, once).operator().windows())
    assert rows(last.windows()) == []  # a window leaves both stages in one step
    with pytest.raises(fl.InputError, match=r"`stage` \(3\) must be from 1 to 2"):
        inspect(ran.checkpoint, stage=3)


def test_what_is_no_checkpoint_of_ours_is_named(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    with pytest.raises(fl.StateError, match=r"no checkpoint at '.*/nothing'\. Check the path"):
        inspect(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(fl.StateError, match=r"empty' holds no state: no query has run on it"):
        inspect(tmp_path / "empty")
    (tmp_path / "begun" / "offsets").mkdir(parents=True)
    (tmp_path / "begun" / "offsets" / "0").write_text("v1")
    with pytest.raises(fl.StateError, match="no batch of its query has been committed yet"):
        inspect(tmp_path / "begun")
    counts = spark.readStream.schema(DDL).parquet(str(ran.folder / "in")).groupBy("k").count()
    writing = (
        counts.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(tmp_path / "own"))
    )
    assert writing.trigger(availableNow=True).start().awaitTermination(240)
    with pytest.raises(fl.StateError, match="a query without a Fanlight pipeline"):
        inspect(tmp_path / "own")


def test_damaged_files_of_sparks_are_named(spark: SparkSession, ran: Ran, tmp_path: Path) -> None:
    """Its word about the state, and about the query; nothing that Java or a parser says comes up alone."""
    broken = tmp_path / "broken"
    shutil.copytree(ran.checkpoint, broken)
    assert durable_id(spark, str(broken)) == durable_id(spark, str(ran.checkpoint))
    for content in ("", "{", "[]", '{"ID": 1}'):
        (broken / "metadata").write_text(content)
        (broken / ".metadata.crc").unlink(missing_ok=True)
        with pytest.raises(fl.StateError, match=r"'metadata' of the .* is gone or damaged.*Restore the file"):
            durable_id(spark, str(broken))
    for file in (broken / "state").rglob("*"):
        if "_metadata" in str(file) and file.is_file():
            file.unlink() if file.name.endswith(".crc") else file.write_text("v2\n{")
    with pytest.raises(fl.StateError, match=r"/state' that say what is in the state are gone or damaged"):
        inspect(broken)


def shown(*words: str) -> Result:
    app = typer.Typer()
    app.command()(show)
    return CliRunner().invoke(app, words)


def test_the_command_line_shows_windows_and_messages(ran: Ran) -> None:
    told = shown(str(ran.checkpoint), "--key", "a", "--start", "2026-01-01T00:00:40Z")
    assert told.exit_code == 0, told.output
    assert "the state after batch 3" in told.output
    assert "tumbling 10 s, lateness 15 s, by k" in told.output
    assert "13 received, 13 accepted, 0 duplicates, 0 dead letters" in told.output
    told = shown(str(ran.checkpoint), "--messages", "--key", "b", "--key", "c", "--json", "--limit", "2")
    assert [json.loads(line) for line in told.output.splitlines()] == [
        {"ts": "2026-01-01T00:00:03Z", "k": "c", "v": 5},
        {"ts": "2026-01-01T00:00:04Z", "k": "b", "v": 2},
    ]


def test_the_command_line_says_what_it_cannot_read(tmp_path: Path) -> None:
    told = shown(str(tmp_path / "nothing"))
    assert told.exit_code == 2
    assert "there is no checkpoint at" in told.output


def test_a_state_file_that_is_not_the_one_written_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Each partition's newest file is replaced by the one before: whole, readable, and wrong."""
    ran = Ran(spark, tmp_path, retained).run()
    for partition in ("0", "1"):
        folder = ran.checkpoint / "state" / "0" / partition
        for file in folder.glob(".*.crc"):  # those of Hadoop, which not every file system has
            file.unlink()
        *_, older, newest = sorted(folder.glob("*.changelog"), key=lambda file: int(file.name.split("_")[0]))
        newest.write_bytes(older.read_bytes())
    with pytest.raises(Exception, match=r"CHECKPOINT_FILE_CHECKSUM"):
        rows(inspect(ran.checkpoint).windows())
