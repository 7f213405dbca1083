"""`write_to` in this process: the same targets as on Spark, each with the guarantee that it has there."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fanlight as fl
from fanlight.sinks import Batch, BatchNote

ORDERS = [(2, "a"), (7, "a"), (12, "b"), (9, "a"), (18, "b"), (5, "a"), (None, "b")]
"""9 is late: 12 has closed [0, 10). 5 is expired, as 18 has passed 15, and the last has no time."""


SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "p": pa.int64()})


def totals(orders: Any = ORDERS, **options: Any) -> fl.Result:
    came = [{"ts": ts, "k": k, "p": ts} for ts, k in orders]
    stream = fl.stream(came, time="ts", unit="s", delay="0 s", rows=1, **options).key_by("k")
    return stream.window(fl.tumbling("10 s"), lateness="5 s").agg(total=fl.sum("p"))


def asked(file: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.execute(question))


class TestSqlite:
    def test_rows_letters_and_accounting_are_tables(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        assert totals().write_to(f"sqlite:///{file}", table="totals") is None
        assert asked(file, "SELECT k, total FROM totals ORDER BY k") == [("a", 18), ("b", 30)]
        assert asked(file, "SELECT reason FROM totals_dead_letters ORDER BY 1") == [("expired",), ("null_time",)]
        assert asked(file, "SELECT stage, received, accepted, dead_letters FROM totals_accounting") == [(1, 7, 5, 2)]

    def test_a_name_is_written_once(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        for _ in range(2):
            totals().write_to(f"sqlite:///{file}", table="totals", name="orders")
        assert asked(file, "SELECT count(*), sum(received) FROM totals_accounting") == [(1, 7)]
        totals().write_to(f"sqlite:///{file}", table="totals", name="orders again")
        assert asked(file, "SELECT count(*) FROM totals_accounting") == [(2,)]
        assert asked(file, "SELECT k, total FROM totals ORDER BY k") == [("a", 18), ("b", 30)]

    def test_rows_without_a_window_are_replaced_by_what_is_unique(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        came = [{"ts": 1, "id": 7, "v": 1}, {"ts": 2, "id": 7, "v": 2}]
        fl.stream(came, time="ts", unit="s").sort().write_to(f"sqlite:///{file}", table="rows", unique="id")
        assert asked(file, "SELECT id, v FROM rows") == [(7, 2)]

    def test_a_table_from_before_is_told_what_to_rename(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        totals().write_to(f"sqlite:///{file}", table="totals")
        asked(file, "ALTER TABLE totals RENAME COLUMN pane_number TO pane_index")
        with pytest.raises(fl.SinkError, match=r"'pane_index' is called 'pane_number' now") as told:
            totals().write_to(f"sqlite:///{file}", table="totals")
        asked(file, str(told.value).rpartition("again: ")[2])
        totals().write_to(f"sqlite:///{file}", table="totals")
        assert asked(file, "SELECT k, pane_number FROM totals ORDER BY k") == [("a", 1), ("b", 0)]

    def test_each_stage_has_its_account(self, tmp_path: Path) -> None:
        file = tmp_path / "t.db"
        most = totals().window(fl.tumbling("1 min")).agg(most=fl.max("total"))
        most.write_to(f"sqlite:///{file}", table="most")
        told = [(number, stage.accounting.received) for number, stage in enumerate(most.stages, 1)]
        assert asked(file, "SELECT stage, received FROM most_accounting ORDER BY 1") == told


class TestFiles:
    def test_json_lines_are_the_rows_of_the_table(self, tmp_path: Path) -> None:
        totals().write_to(tmp_path / "totals.jsonl", name="orders")
        totals().write_to(tmp_path / "totals.jsonl", name="orders")
        rows = [json.loads(line) for line in (tmp_path / "totals.jsonl").read_text().splitlines()]
        assert [row["total"] for row in rows] == totals().table()["total"].to_pylist()
        assert len((tmp_path / "totals_dead_letters.jsonl").read_text().splitlines()) == 2

    def test_a_file_of_another_query_is_left_alone(self, tmp_path: Path) -> None:
        totals().write_to(tmp_path / "totals.jsonl", name="orders")
        with pytest.raises(fl.SinkError, match="it belongs to query 'orders'"):
            totals().write_to(tmp_path / "totals.jsonl", name="others")

    def test_parquet_is_a_folder_of_the_same_rows(self, tmp_path: Path) -> None:
        for _ in range(2):
            totals().write_to(f"{tmp_path}/totals/", name="orders")
        read = pq.read_table(tmp_path / "totals")
        assert read.drop_columns(["batch"]).to_pylist() == totals().table().to_pylist()
        assert pq.read_table(tmp_path / "totals_accounting")["received"].to_pylist() == [7]

    def test_a_run_without_rows_writes_its_columns(self, tmp_path: Path) -> None:
        totals([(None, "a")], schema=SCHEMA).write_to(f"{tmp_path}/totals/")
        read = pq.read_table(tmp_path / "totals")
        assert (len(read), read.column_names) == (0, ["k", "window", "total", "pane", "batch"])


class TestCode:
    def test_a_function_is_handed_all_three(self) -> None:
        taken: list[Any] = []
        totals().write_to(lambda rows, batch: taken.append((rows, batch)), name="orders")
        [(rows, batch)] = taken
        assert rows.equals(totals().table())
        assert (batch.query, batch.number, len(batch.dead_letters)) == ("orders", 0, 2)

    def test_what_it_raises_is_raised(self) -> None:
        with pytest.raises(ZeroDivisionError):
            totals().write_to(lambda rows, batch: 1 / 0)

    def test_a_sink_of_ones_own_is_asked_what_it_has(self) -> None:
        class Notes:
            place = "notes"
            noted: BatchNote | None = None
            taken = 0

            def newest(self, query: str) -> BatchNote | None:
                return self.noted

            def take(self, rows: pa.Table, batch: Batch) -> None:
                self.taken, self.noted = self.taken + len(rows), batch.note

        notes = Notes()
        for _ in range(2):
            totals().write_to(notes, name="orders")
        assert notes.taken == 3


class TestRefused:
    @pytest.mark.parametrize(
        "said", [{"checkpoint": "c"}, {"available_now": True}, {"flush": True}, {"every": "1 s"}], ids=str
    )
    def test_what_is_about_streams_of_spark(self, said: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(fl.SpecError, match=f"`{next(iter(said))}` is for a DataFrame of Spark"):
            totals().write_to(f"{tmp_path}/totals/", **said)

    @pytest.mark.parametrize(
        ("target", "told"),
        [
            ("jdbc:postgresql://db.example/shop", "is reached by Spark, through its JVM"),
            ("postgresql://me:secret@db.example/shop", "'jdbc:postgresql://host/database'"),
        ],
    )
    def test_databases_by_jdbc(self, target: str, told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            totals().write_to(target, table="totals")

    def test_file_systems_that_only_spark_knows(self) -> None:
        with pytest.raises(fl.SpecError, match="names a file system that Spark knows"):
            totals().write_to("s3a://bucket/totals/")

    def test_columns_that_nobody_knows(self, tmp_path: Path) -> None:
        with pytest.raises(fl.InputError, match=r"no record came, so nobody knows the columns.*schema="):
            totals([]).write_to(tmp_path / "totals.jsonl")
        totals([], schema=SCHEMA).write_to(tmp_path / "totals.jsonl")
        assert (tmp_path / "totals.jsonl").read_text() == ""


def test_pyspark_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import fanlight as fl\n"
        "fl.stream([{'ts': 1}], time='ts', unit='s').sort().write_to(lambda rows, batch: print(len(rows)))\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert told.stdout == "1\n", told.stderr
