"""Whether a contestant is right: a few orders through the whole query, against the definition of the windows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.spark.contestants import Contestant
from benchmarks.spark.few import FEW
from benchmarks.spark.files import Files
from benchmarks.spark.play import ROWS, sources, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: SparkSession, contestant: Contestant, room: Path, few: Files = FEW) -> None:
    """Stop everything if a closed window of a key is not what the definition says, is missing, or should be open.

    It is the first time a contestant runs, so it also wakes the Python workers and has the code compiled.
    """
    ours = contestant.windows.found(_rows(spark, contestant, room, few), repeats=contestant.repeats)
    theirs = contestant.windows.defined()
    if not ours.equals(theirs):
        raise SystemExit(
            f"{contestant.name}: its {len(ours)} closed panes are not the {len(theirs)} of the data, so no figure "
            f"stands.\nfound {ours.slice(0, 5).to_pylist()} …\nexpected {theirs.slice(0, 5).to_pylist()} …"
        )


def _rows(spark: SparkSession, contestant: Contestant, room: Path, few: Files) -> pa.Table:
    """The rows of a whole query, as whoever writes them leaves them."""
    inputs = sources(spark, contestant, few, room)
    if contestant.result is not None:
        with TemporaryDirectory(dir=room) as folder:
            written(contestant, inputs, Path(folder)).awaitTermination()
            return spark.read.parquet(str(Path(folder) / ROWS)).drop("batch").toArrow()
    name = "checked"
    writer = contestant.query(*inputs).writeStream.format("memory").queryName(name).outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()
    rows = spark.table(name).toArrow()
    spark.catalog.dropTempView(name)
    return rows
