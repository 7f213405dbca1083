"""Whether a contestant is right: a few orders through the whole query, against the definition of the windows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.spark.contestants import Contestant
from benchmarks.spark.few import FEW
from benchmarks.spark.files import Files
from benchmarks.spark.play import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(spark: SparkSession, contestant: Contestant, room: Path, few: Files = FEW) -> None:
    """Stop everything if a closed window of a key is not what the definition says, is missing, or should be open.

    It is the first time a contestant runs, so it also wakes the Python workers and has the code compiled.
    """
    name = "checked"
    rows = asked(spark, contestant, few, room)
    query = rows.writeStream.format("memory").queryName(name).outputMode("append").trigger(availableNow=True).start()
    query.awaitTermination()
    ours = contestant.windows.found(spark.table(name).toArrow(), repeats=contestant.repeats)
    spark.catalog.dropTempView(name)
    theirs = contestant.windows.defined()
    if not ours.equals(theirs):
        raise SystemExit(
            f"{contestant.name}: its {len(ours)} closed panes are not the {len(theirs)} of the data, so no figure "
            f"stands.\nfound {ours.slice(0, 5).to_pylist()} …\nexpected {theirs.slice(0, 5).to_pylist()} …"
        )
