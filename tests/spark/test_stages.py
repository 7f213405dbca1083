"""Two stages in one query: both act on one watermark, and nothing that leaves the first is lost in the second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.wire import opened

from .test_pipelines import BUNDLES, DDL, bundle, plain, rows, write

pytestmark = pytest.mark.slow


def best(source: Any) -> fl.Result:
    stream = fl.stream(source, time="ts", delay="5 seconds").key_by("k").window(fl.hopping("20 s", every="10 s"))
    counts = stream.agg(n=fl.count(), total=fl.sum("v"))
    return counts.rewindow().agg(best=fl.top("row", 2, by="total"), keys=fl.count())


def test_a_batch_dataframe_runs_both_stages(spark: SparkSession) -> None:
    table = pa.concat_tables(BUNDLES)
    assert rows(best(spark.createDataFrame(table.to_pandas(), DDL)).df) == plain(best(table).table())


def test_a_stream_runs_both_stages_in_one_query_and_passes_dead_letters_on(spark: SparkSession, tmp_path: Path) -> None:
    bundles = [*BUNDLES, bundle((3, "a", 99)), bundle((500, "z", 1))]
    write(tmp_path / "in", bundles)
    source = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    result = best(source)
    query = (
        result.on_spark("leaving")
        .leaving()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(240)
    left = spark.read.parquet(str(tmp_path / "out"))
    letters = left.filter("kind = 'letter'").count()
    counts = left.filter("kind = 'account'").groupBy("stage").sum("received", "accepted", "dead_letters").collect()
    by_stage = {row["stage"]: (row[1], row[2], row[3]) for row in counts}
    fired = [opened(bytes(row["payload"])) for row in left.filter("kind = 'firing'").collect()]
    expected = best(batch for table in bundles for batch in table.to_batches())
    closed = [row for row in plain(expected.table()) if row["window"][1] <= 1767225600 + 495]
    assert letters == len(expected.dead_letters) == 2
    assert by_stage[1] == (18, 16, 2)
    assert by_stage[2][0] == by_stage[2][1] > 0
    assert plain(pa.Table.from_batches(fired)) == closed
