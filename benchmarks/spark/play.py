"""One query over its files, from an empty checkpoint to the end of them; what Spark says each batch took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from statistics import median
from tempfile import mkdtemp
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.spark.contestants import Contestant
from benchmarks.spark.files import SCHEMA, Files
from benchmarks.spark.written import rows_by_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_LOOK, _SHORTEST, _LONGEST = 10, 30, 90
"""Seconds: how often a rehearsal is looked at, and how long it takes at least and at most."""
_CHECKPOINT, ROWS = "checkpoint", "rows"
"""The folders of a query."""
_LITTLE = 0.1
"""The share of one core up to which the compiler is nearly done."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the progress of a micro-batch says: rows in and out, and the whole time of its trigger."""

    rows: int
    rows_out: int
    milliseconds: int


@dataclass(frozen=True, slots=True)
class Played:
    """The batches that brought rows, in order, and the bytes of state that the query leaves on disk."""

    batches: tuple[Batch, ...]
    warm: int
    state: int
    left: tuple[int, ...]
    """How many rows left with each batch, from the first with which any did to the last.

    Fanlight's windows leave with the batch that closes them, Spark's own with the next, which may be one without rows.
    """

    @property
    def nanoseconds(self) -> float:
        """Nanoseconds a row over all batches that count."""
        counted = self.batches[self.warm :]
        return sum(batch.milliseconds for batch in counted) * 1e6 / sum(batch.rows for batch in counted)

    @property
    def milliseconds(self) -> float:
        """Milliseconds of the middle batch of those that count."""
        return median(batch.milliseconds for batch in self.batches[self.warm :])


def sources(spark: SparkSession, contestant: Contestant, files: Files, room: Path) -> list[DataFrame]:
    """Files as a stream for each input of a contestant, one file a micro-batch."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return [reader.parquet(str(part.folder(room))) for part in files.parted(contestant.inputs)]


def written(contestant: Contestant, inputs: list[DataFrame], place: Path) -> StreamingQuery:
    """Let `write_to` write the rows of a contestant to a folder in `place`, up to the end of the files."""
    assert contestant.result is not None
    result = contestant.result(*inputs)
    query = result.write_to(f"{place / ROWS}/", checkpoint=str(place / _CHECKPOINT), available_now=True)
    assert query is not None  # its source is a stream
    return query


def rehearse(
    spark: SparkSession, contestant: Contestant, room: Path, shortest: float = _SHORTEST, longest: float = _LONGEST
) -> float:
    """Let a contestant play, again and again, until Java's compiler is nearly done; how many seconds that took.

    A query that runs for days is warm. The compiler of Java takes a core or more of a new query's time, and with
    every minute less: what a batch costs is known when it takes little.
    """
    began = looked = monotonic()
    query, place, compiled = None, room, _compiled(spark)
    while looked - began < longest:
        if query is None or not query.isActive:
            _clear(place)
            query, place = _started(spark, contestant, room)
        query.awaitTermination(min(_LOOK, max(1, longest - (looked - began))))  # Spark refuses to wait for 0 ms
        before, compiled, last, looked = compiled, _compiled(spark), looked, monotonic()
        if looked - began >= shortest and compiled - before < _LITTLE * (looked - last):
            break
    if query is not None:
        query.stop()
    _clear(place)
    return looked - began


def _compiled(spark: SparkSession) -> float:
    """The seconds that Java's compiler has taken so far, of all its threads."""
    java: Any = spark._jvm  # noqa: SLF001 -- PySpark has no other way to it
    return float(java.java.lang.management.ManagementFactory.getCompilationMXBean().getTotalCompilationTime()) / 1e3


def play(spark: SparkSession, contestant: Contestant, room: Path) -> Played:
    """Run the contestant's query once, into a sink that takes everything and does nothing, or into parquet files."""
    query, place = _started(spark, contestant, room)
    query.awaitTermination()
    leaving = rows_by_batch(place / ROWS) if contestant.writes else _told(query)
    batches = tuple(
        Batch(progress["numInputRows"], leaving[progress["batchId"]], progress["durationMs"]["triggerExecution"])
        for progress in query.recentProgress
        if progress["numInputRows"]
    )
    left = np.trim_zeros([leaving[progress["batchId"]] for progress in query.recentProgress])
    played = Played(batches, contestant.warm, _bytes(place / _CHECKPOINT / "state"), tuple(left))
    _require_whole(contestant, played)
    _clear(place)
    return played


def _told(query: StreamingQuery) -> dict[int, int]:
    """How many rows left with each batch, as the sink says; one that writes files does not say."""
    return {progress["batchId"]: progress["sink"]["numOutputRows"] for progress in query.recentProgress}


def _started(spark: SparkSession, contestant: Contestant, room: Path) -> tuple[StreamingQuery, Path]:
    """The query, and the folder of its checkpoint and of the rows it writes."""
    place = Path(mkdtemp(prefix="played-", dir=room))  # what a stopped query still writes is in no one's way
    inputs = sources(spark, contestant, contestant.files, room)
    if contestant.result is not None:
        return written(contestant, inputs, place), place
    writer = contestant.query(*inputs).writeStream.outputMode("append")
    writer = writer.trigger(availableNow=True).option("checkpointLocation", str(place / _CHECKPOINT))
    if contestant.writes:
        return writer.format("parquet").option("path", str(place / ROWS)).start(), place
    return writer.format("noop").start(), place


def _clear(place: Path) -> None:
    """Remove the rows a query has written: a play writes half a gigabyte."""
    rmtree(place / ROWS, ignore_errors=True)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _require_whole(contestant: Contestant, played: Played) -> None:
    files = contestant.files
    rows = sum(batch.rows for batch in played.batches)
    if len(played.batches) != files.first or rows != files.rows:
        raise SystemExit(
            f"{contestant.name}: {rows} rows in {len(played.batches)} batches were played, not {files.rows} in "
            f"{files.first}. No figure stands on that."
        )
