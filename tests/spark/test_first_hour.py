"""The first hour on Spark: the mode to use, the batches of a whole run, and a quiet start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.shipping import portable

SCRIPT = """
import sys
from importlib.machinery import ModuleSpec
sys.modules["__main__"].__spec__ = ModuleSpec(sys.argv[1], None)
print("before")
from pyspark import cloudpickle
cloudpickle.loads(sys.stdin.buffer.read())
print("after")
"""


@pytest.mark.parametrize(
    ("main", "heard"),
    [
        ("pyspark.sql.streaming.transform_with_state_driver_worker", ["before"]),
        ("pyspark.daemon", ["before", "after"]),
    ],
)
def test_the_python_that_declares_state_says_nothing_more(main: str, heard: list[str]) -> None:
    sent = cloudpickle.dumps(portable(Any))  # type: ignore[no-untyped-call,arg-type]
    told = subprocess.run([sys.executable, "-c", SCRIPT, main], input=sent, capture_output=True, check=True)
    assert told.stdout.decode().split() == heard


@pytest.mark.slow
class TestQueries:
    def counts(self, spark: SparkSession, folder: Path, files: int = 3) -> fl.Result:
        (folder / "in").mkdir()
        for number in range(files):
            line = json.dumps({"ts": f"2026-03-01T12:0{number}:00Z", "k": "a"})
            file = folder / "in" / f"{number}.json"
            file.write_text(line)
            os.utime(file, (1_700_000_000 + number,) * 2)  # Spark reads files by their age
        frame = spark.readStream.schema("ts timestamp, k string").option("maxFilesPerTrigger", 1)
        stream = fl.stream(frame.json(str(folder / "in")), time="ts", delay="0 s")
        return stream.key_by("k").window(fl.tumbling("1 minute")).agg(n=fl.count())

    def test_after_a_flush_the_progress_is_that_of_the_whole_run(self, spark: SparkSession, tmp_path: Path) -> None:
        query = self.counts(spark, tmp_path).write_to(
            tmp_path / "n.jsonl", checkpoint=tmp_path / "cp", available_now=True, flush=True
        )
        assert query is not None
        query.awaitTermination()
        told = [progress["batchId"] for progress in query.recentProgress]
        assert told == list(range(len(told)))  # one a file, and what Spark adds where only the clock has moved
        assert len(told) > 3
        assert len((tmp_path / "n.jsonl").read_text().splitlines()) == 3

    def test_complete_mode_is_refused_with_the_mode_to_use(self, spark: SparkSession, tmp_path: Path) -> None:
        frame = self.counts(spark, tmp_path).df
        with pytest.raises(fl.SpecError, match=r"'complete' writes the whole table.*Use outputMode\('append'\)"):
            frame.writeStream.outputMode("complete")
        assert frame.writeStream.outputMode("append") is not None
        assert type(frame).__module__.startswith("pyspark.")

    def test_the_number_of_a_firing_is_an_attribute_of_its_row(self, spark: SparkSession, tmp_path: Path) -> None:
        """`index` is a method of every tuple, and so of a Row."""
        sales = spark.createDataFrame([("2026-03-01 12:00:10", "a")], "ts string, k string")
        stream = fl.stream(sales.withColumn("ts", sales["ts"].cast("timestamp")), time="ts", delay="0 s").key_by("k")
        [row] = stream.window(fl.tumbling("1 minute"), lateness="1 h").agg(n=fl.count()).df.collect()
        assert (row.pane.number, row.pane.op, row.pane.timing) == (0, "+I", "ON_TIME")

    def test_no_delay_on_a_stream_is_warned_of(self, spark: SparkSession) -> None:
        with pytest.warns(fl.FanlightWarning, match="no `delay` is given"):
            fl.stream(spark.readStream.format("rate").load(), time="timestamp")
