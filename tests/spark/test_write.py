"""`write_to` with real queries: what is written survives a restart in the middle, and equals the embedded engine's."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession, functions
from pyspark.sql.streaming import StreamingQuery

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.operators.accounting import Accounting
from fanlight.sinks.batch import Batch
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.targets import sinks_of
from fanlight.spark.output import COUNTS, OUTPUT
from fanlight.spark.private_folder import private_folder
from fanlight.spark.write import BatchWriter, describe, write

from .sinks.orders import BASE, BUNDLES, DDL, SCHEMA, corrected, once, put, room_for, standing, stepped, streamed
from .sinks.test_user_sink import Shelf

pytestmark = pytest.mark.slow

RECORDS = sum(len(bundle) for bundle in BUNDLES)
DEAD = [("expired", "late", 99), ("expired", "late", 98)]


class Seen:
    """A function that takes batches, and dies once with the batch that it is told."""

    def __init__(self, dies_with: int | None = None) -> None:
        self.batches: list[Batch] = []
        self._dies_with = dies_with

    def __call__(self, table: pa.Table, batch: Batch) -> None:
        self.batches.append(batch)
        if batch.number == self._dies_with:
            self._dies_with = None
            raise RuntimeError("the lights went out")

    @property
    def numbers(self) -> list[int]:
        return [batch.number for batch in self.batches]


def written(spark: SparkSession, folder: Path, target: Any, **options: Any) -> StreamingQuery:
    """A query over all that is there, one file a batch, to its end."""
    run = streamed(spark, folder / "in", corrected).on_spark("test")
    query = write(run, target, checkpoint=str(folder / "checkpoint"), available_now=True, **options)
    assert query is not None
    query.awaitTermination(240)
    assert not query.isActive, "the query did not end"
    return query


def asked(file: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.execute(question))


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def expected_table() -> list[tuple[Any, ...]]:
    rows = standing(pa.concat_tables(stepped(corrected, BUNDLES)))
    return sorted(((*key, row["n"], str(row["revenue"]), row["values"]) for key, row in rows.items()), key=repr)


def table_in(file: Path) -> list[tuple[Any, ...]]:
    rows = asked(file, 'SELECT k, window_start, window_end, n, revenue, "values" FROM totals')
    return sorted(((k, moment(a), moment(b), n, str(r), json.loads(v)) for k, a, b, n, r, v in rows), key=repr)


def test_a_query_that_dies_between_the_commit_and_the_end_of_a_batch_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The table has batch 5 and its dead letter when the query dies; Spark hands it over again, and it is skipped."""
    put(tmp_path / "in", BUNDLES)
    file, seen = tmp_path / "t.db", Seen(dies_with=5)
    target = {"target": f"sqlite:///{file}", "table": "totals", "accounting": seen}
    with pytest.raises(StreamingQueryException, match="the lights went out"):
        written(spark, tmp_path, **target)
    assert asked(file, "SELECT DISTINCT batch FROM fanlight_batches") == [(5,)]
    query = written(spark, tmp_path, **target)
    assert seen.numbers[:7] == [0, 1, 2, 3, 4, 5, 5]
    assert [len(batch.dead_letters) for batch in seen.batches[5:7]] == [1, 1]
    assert table_in(file) == expected_table()
    assert [(reason, json.loads(record)["k"], json.loads(record)["v"]) for reason, record in letters_in(file)] == DEAD
    assert {batch.query for batch in seen.batches} == {str(query.id)}
    once_each = {batch.number: batch.accounting for batch in seen.batches}
    counts = pa.concat_tables(once_each.values()).to_pylist()
    assert sum(row["received"] for row in counts) == RECORDS
    assert sum(row["dead_letters"] for row in counts) == len(DEAD)
    assert all(Accounting(**{count: row[count] for count in COUNTS}).adds_up for row in counts)


def test_what_a_query_notes_for_its_next_batch_is_private_and_goes_with_it(spark: SparkSession, tmp_path: Path) -> None:
    """While batch n is handed on its note is there; when the query has ended nothing of it is."""
    put(tmp_path / "in", BUNDLES[:2])
    notes: dict[int, str] = {}

    def look(table: pa.Table, batch: Batch) -> None:
        with private_folder() as private, private.folder(batch.query) as own:
            notes[batch.number] = (own.read(str(batch.number)) or b"").decode()

    query = written(spark, tmp_path, look)
    assert [int(notes[n]) // 1_000_000 - int(BASE.timestamp()) for n in (0, 1)] == [11 - 5, 26 - 5]
    for thread in threading.enumerate():
        if thread.name == "fanlight-lease":
            thread.join(60)
    with private_folder() as private:
        assert str(query.id) not in private.names()


def letters_in(file: Path) -> list[Any]:
    return asked(file, "SELECT reason, record FROM totals_dead_letters")


def test_files_that_have_a_batch_which_spark_does_not_know_of_keep_it_as_it_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Parquet and JSON lines are written, then the driver is gone before Spark noted the end of the batch."""
    put(tmp_path / "in", BUNDLES[:3])
    folder, file, counts = tmp_path / "totals", tmp_path / "late.jsonl", tmp_path / "counts.jsonl"
    target = {"target": f"{folder}/", "dead_letters": file, "accounting": counts}
    written(spark, tmp_path, **target)
    commits = tmp_path / "checkpoint" / "commits"
    last = max(int(note.name) for note in commits.glob("[0-9]*"))
    for note in (f"{last}", f".{last}.crc"):
        (commits / note).unlink()
    put(tmp_path / "in", BUNDLES[3:], start=3)
    written(spark, tmp_path, **target)
    rows = spark.read.parquet(str(folder)).orderBy("pane.number", functions.desc("pane.op")).toArrow()
    assert panes(standing(rows.drop_columns(["batch"]))) == panes(
        standing(pa.concat_tables(stepped(corrected, BUNDLES)))
    )
    assert len(rows) == len({repr(row) for row in rows.drop_columns(["batch"]).to_pylist()})
    letters = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["reason"], row["record"]["k"], row["record"]["v"]) for row in letters] == DEAD
    steps = [json.loads(line) for line in counts.read_text().splitlines()]
    assert sum(step["received"] for step in steps) == RECORDS
    assert len({(step["batch"], step["shard"]) for step in steps}) == len(steps)


def panes(rows: dict[Any, Any]) -> list[Any]:
    return sorted(((*key, row["n"], row["revenue"], row["values"]) for key, row in rows.items()), key=repr)


def test_a_full_disk_stops_the_query_and_it_goes_on_when_there_is_room(spark: SparkSession, tmp_path: Path) -> None:
    """Only this process has no room, so that Spark itself goes on; the second batch fires a key of two megabytes."""
    heavy = BUNDLES[1].set_column(1, "k", pa.array(["k" * (1 << 21), "b", "k" * (1 << 21), None]))
    put(tmp_path / "in", [BUNDLES[0], heavy, *BUNDLES[2:]])
    file = tmp_path / "t.db"
    with room_for(1 << 21), pytest.raises(StreamingQueryException, match="did not take batch 1"):
        written(spark, tmp_path, f"sqlite:///{file}", table="totals")
    assert asked(file, "SELECT DISTINCT batch FROM fanlight_batches") == [(0,)]
    written(spark, tmp_path, f"sqlite:///{file}", table="totals")
    fired = pa.concat_tables(stepped(corrected, [BUNDLES[0], heavy, *BUNDLES[2:]]))
    assert asked(file, "SELECT COUNT(*) FROM totals") == [(len(standing(fired)),)]
    assert asked(file, "SELECT SUM(received), SUM(dead_letters) FROM totals_accounting") == [(RECORDS, len(DEAD))]


def test_a_checkpoint_that_was_put_back_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The checkpoint of three files comes back when six are written. Accepted, the tables go back with it."""
    put(tmp_path / "in", BUNDLES[:3])
    file, late, checkpoint = tmp_path / "t.db", tmp_path / "late.jsonl", tmp_path / "checkpoint"
    target = {"target": f"sqlite:///{file}", "table": "totals", "dead_letters": late}
    written(spark, tmp_path, **target)
    shutil.copytree(checkpoint, tmp_path / "copy")
    put(tmp_path / "in", BUNDLES[3:], start=3)
    written(spark, tmp_path, **target)
    table, newest = table_in(file), asked(file, "SELECT MAX(batch) FROM fanlight_batches")
    shutil.rmtree(checkpoint)
    shutil.copytree(tmp_path / "copy", checkpoint)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match=rf"its newest batch is {newest[0][0]}, and the checkpoint"):
            written(spark, tmp_path, **target)
    assert (table_in(file), asked(file, "SELECT MAX(batch) FROM fanlight_batches")) == (table, newest)
    written(spark, tmp_path, **target, on_mismatch="accept")
    assert table_in(file) == expected_table()
    assert asked(file, "SELECT SUM(received), SUM(dead_letters) FROM totals_accounting") == [(RECORDS, len(DEAD))]
    assert asked(file, "SELECT MAX(batch) FROM fanlight_batches") == newest


def test_a_checkpoint_that_was_put_back_by_one_batch_is_refused_too(spark: SparkSession, tmp_path: Path) -> None:
    """What Spark then plans as the last batch has a number that the table knows, and reads three files more."""
    put(tmp_path / "in", BUNDLES[:3])
    file, checkpoint = tmp_path / "t.db", tmp_path / "checkpoint"
    written(spark, tmp_path, f"sqlite:///{file}", table="totals")
    last = asked(file, "SELECT MAX(batch) FROM fanlight_batches")[0][0]
    for note in ("offsets", "commits"):
        for name in (f"{last}", f".{last}.crc"):
            (checkpoint / note / name).unlink()
    put(tmp_path / "in", BUNDLES[3:], start=3)
    with pytest.raises(StreamingQueryException, match=f"it holds a batch {last} already that read other offsets"):
        written(spark, tmp_path, f"sqlite:///{file}", table="totals")
    written(spark, tmp_path, f"sqlite:///{file}", table="totals", on_mismatch="accept")
    assert table_in(file) == expected_table()
    assert len(letters_in(file)) == len(DEAD)


def test_a_place_that_is_gone_is_refused_before_another_is_written(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", BUNDLES[:3])
    file, late = tmp_path / "t.db", tmp_path / "late.jsonl"
    target = {"target": f"sqlite:///{file}", "table": "totals", "dead_letters": late}
    written(spark, tmp_path, **target)
    for gone in tmp_path.glob("late.jsonl*"):
        gone.unlink()
    put(tmp_path / "in", BUNDLES[3:], start=3)
    held = asked(file, "SELECT * FROM fanlight_batches")
    with pytest.raises(
        StreamingQueryException, match=r"late\.jsonl did not take batch .*it knows nothing of this query"
    ):
        written(spark, tmp_path, **target)
    assert asked(file, "SELECT * FROM fanlight_batches") == held
    written(spark, tmp_path, **target, on_mismatch="accept")
    assert table_in(file) == expected_table()
    assert [json.loads(line)["record"]["v"] for line in late.read_text().splitlines()] == [v for _, _, v in DEAD]


def test_what_is_accepted_is_the_first_batch_of_a_start(spark: SparkSession, tmp_path: Path) -> None:
    """The file is new to batch 3, which is accepted; a gap after it is not."""
    run = corrected(spark.createDataFrame([], DDL)).on_spark("test")
    shape = ResultShape.of(run.spec, run.bound, run.letters)
    writer = BatchWriter(sinks_of(shape, tmp_path / "t.jsonl"), shape, accepts=True)
    nothing = spark.createDataFrame([], OUTPUT)
    for number in (3, 4):
        writer.deliver(nothing, "q", number)
    with pytest.raises(SinkError, match="its newest batch is 4, and the checkpoint has come to 9"):
        writer.deliver(nothing, "q", 9)


class TestABatchDataFrame:
    """It is read and written once, as batch 0."""

    def run(self, spark: SparkSession) -> Any:
        table = pa.concat_tables([*BUNDLES, pa.Table.from_pylist([{"ts": None, "k": "x"}], schema=SCHEMA)])
        return once(spark.createDataFrame(table.to_pandas(), DDL)).on_spark("test")

    def panes(self) -> list[Any]:
        table = once(pa.concat_tables(BUNDLES)).table()
        return sorted(((row["k"], row["window"]["start"], row["n"]) for row in table.to_pylist()), key=repr)

    def test_goes_to_a_table_once_for_each_name(self, spark: SparkSession, tmp_path: Path) -> None:
        file, run = tmp_path / "t.db", self.run(spark)
        for name in ("monday", "monday", None):
            assert write(run, f"sqlite:///{file}", table="totals", name=name) is None
        rows = asked(file, "SELECT k, window_start, n FROM totals")
        assert sorted(((k, moment(start), n) for k, start, n in rows), key=repr) == self.panes()
        received = asked(
            file, "SELECT query = 'monday', SUM(received), SUM(dead_letters) FROM totals_accounting GROUP BY 1"
        )
        assert received == [(0, RECORDS + 1, 1), (1, RECORDS + 1, 1)]

    def test_goes_to_files(self, spark: SparkSession, tmp_path: Path) -> None:
        run = self.run(spark)
        write(run, tmp_path / "t.jsonl", name="monday")
        lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert sorted(((row["k"], moment(row["window"]["start"]), row["n"]) for row in lines), key=repr) == self.panes()
        letters = (tmp_path / "t_dead_letters.jsonl").read_text().splitlines()
        assert [json.loads(line)["reason"] for line in letters] == ["null_time"]

    def test_goes_to_a_folder_by_its_url_and_a_folder_takes_one_query(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        run = self.run(spark)
        for _ in range(2):
            write(run, f"file://{tmp_path}/t.parquet", name="monday")
        rows = spark.read.parquet(str(tmp_path / "t.parquet")).toArrow().to_pylist()
        assert sorted(((row["k"], row["window"]["start"], row["n"]) for row in rows), key=repr) == self.panes()
        letters = spark.read.parquet(str(tmp_path / "t_dead_letters.parquet")).toArrow().to_pylist()
        assert [(row["reason"], row["record"]["k"]) for row in letters] == [("null_time", "x")]
        counts = spark.read.parquet(str(tmp_path / "t_accounting.parquet")).toArrow().to_pylist()
        assert sum(row["received"] for row in counts) == RECORDS + 1
        with pytest.raises(SinkError, match="it belongs to query 'monday'"):
            write(run, f"{tmp_path}/t.parquet", name="tuesday")

    def test_a_folder_by_its_url_that_was_killed_while_it_was_noted_knows_its_batch(
        self, spark: SparkSession, tmp_path: Path
    ) -> None:
        """Not every file system renames over a file: there the old note goes before the new one comes."""
        run, ledger = self.run(spark), tmp_path / "t.parquet" / "_fanlight.json"
        write(run, f"file://{tmp_path}/t.parquet", name="monday", accounting=False)
        ledger.rename(f"{ledger}.new")
        write(run, f"file://{tmp_path}/t.parquet", name="monday", accounting=False)
        with pytest.raises(SinkError, match="it belongs to query 'monday'"):
            write(run, f"file://{tmp_path}/t.parquet", name="tuesday")
        assert len(spark.read.parquet(str(tmp_path / "t.parquet")).collect()) == len(self.panes())

    def test_goes_to_a_function_with_all_that_belongs_to_it(self, spark: SparkSession) -> None:
        seen = Seen()
        write(self.run(spark), seen, name="monday")
        (batch,) = seen.batches
        assert (batch.query, batch.number) == ("monday", 0)
        assert "pane" not in batch.rows.column_names
        assert batch.rows.num_rows == len(self.panes())
        assert batch.dead_letters["reason"].to_pylist() == ["null_time"]

    def test_needs_nothing_that_a_stream_needs(self, spark: SparkSession) -> None:
        for options in ({"checkpoint": "c"}, {"available_now": True}, {"every": "1 s"}):
            with pytest.raises(fl.SpecError, match="is for streams, and this is a batch DataFrame"):
                write(self.run(spark), Seen(), **options)


def test_a_stream_is_told_what_it_needs_before_it_starts(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", BUNDLES[:1])
    run = streamed(spark, tmp_path / "in", corrected).on_spark("test")
    with pytest.raises(fl.SpecError, match="a stream needs `checkpoint`"):
        write(run, Seen())
    with pytest.raises(fl.SpecError, match="`available_now` ends when all is read, and `every` never does"):
        write(run, Seen(), checkpoint="c", available_now=True, every="1 s")


def test_a_query_can_be_named_and_started_every_so_often(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "in", BUNDLES[:1])
    run = streamed(spark, tmp_path / "in", corrected).on_spark("test")
    seen = Seen()
    query = write(run, seen, checkpoint=str(tmp_path / "checkpoint"), every="100 ms", name="totals")
    assert query is not None
    try:
        query.processAllAvailable()
        assert query.name == "totals"
        assert seen.numbers[0] == 0
    finally:
        query.stop()


def test_where_everything_goes_can_be_printed_and_the_docs_say_the_same(spark: SparkSession) -> None:
    run = corrected(spark.createDataFrame([], DDL)).on_spark("test")
    docs = (Path(__file__).parents[2] / "docs" / "sinks.md").read_text(encoding="utf-8")
    for target, options in (
        ("sqlite:////o/t.db", {"table": "totals"}),
        ("/o/totals/", {}),
        ("/o/totals.jsonl", {}),
        (Shelf(), {}),
        (Seen(), {}),
    ):
        lines = describe(run, target, **options).splitlines()
        assert [line.partition(" →")[0] for line in lines[::2]] == ["rows", "dead letters", "accounting"]
        assert all(line.strip() in " ".join(docs.split()) for line in lines[1::2])
    assert "accounting" not in describe(run, "/o/totals.jsonl", accounting=False)
