"""A real streaming query of which a test decides the micro-batches and the clock.

    a file ─► one micro-batch at the test's clock ─► what leaves it

Spark lets only its own tests set a query's clock, so this asks the query manager in Java, as they do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming import DataStreamReader

from fanlight.spark.output import COUNTS

from .jvm import java_frame, java_session, jvm_of

Left = dict[str, Any]
"""What leaves a shard: its kind, its chunk, and the counts of an account."""
COLUMNS = ("kind", "payload", "stage", *COUNTS)

_AGE = 1_700_000_000
"""Spark reads files in the order they were changed, so each says its own second, counted from here."""

_ONE_BATCH_A_FILE = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.pollingDelay": "50",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

_ATTEMPTS = 3
"""A busy machine may take longer to start a Python process than Spark waits for it; a query started again goes on."""


@contextmanager
def one_batch_a_file(spark: SparkSession) -> Iterator[None]:
    """Queries declared and started in here run a micro-batch for a file and for nothing else.

    The beat that makes micro-batches in idle periods is Spark's rate source; it is told to wait for a clock of its own.
    """
    load = DataStreamReader.load
    before = {name: spark.conf.get(name, None) for name in _ONE_BATCH_A_FILE}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataStreamReader, "load", lambda reader: load(reader, useManualClock=True))
        for name, value in _ONE_BATCH_A_FILE.items():
            spark.conf.set(name, value)
        yield
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def asked(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """What this run of pytest asks of a fixture, by the parameter `name` of the tests that use it.

    The others need no query.
    """
    used = [item for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)]
    calls = [item.callspec for item in used if request.fixturename in item.fixturenames and hasattr(item, "callspec")]
    return list({str(call.params[name]): call.params[name] for call in calls}.values())


class Feed:
    """A folder that a stream reads, one file a micro-batch; and one for the signal that its input ends."""

    def __init__(self, spark: SparkSession, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._count = 0
        self.signals = folder / "signals"
        for inside in (folder / "in", self.signals):
            inside.mkdir(parents=True)
        reader = spark.readStream.schema(from_arrow_schema(schema)).option("maxFilesPerTrigger", 1)
        self.frame: DataFrame = reader.parquet(str(folder / "in"))

    def write(self, table: pa.Table) -> None:
        """Hand the next micro-batch in; a table without rows makes one too."""
        name = f"{self._count:03d}.parquet"
        draft = self._folder / name
        pq.write_table(table.cast(self._schema), draft)
        os.utime(draft, (_AGE + self._count,) * 2)
        draft.rename(self._folder / "in" / name)
        self._count += 1

    def end(self) -> None:
        """Say that nothing more comes."""
        draft = self._folder / "end"
        draft.write_text("end")
        draft.rename(self.signals / "end")


def write_all(tables: list[tuple[Feed, pa.Table]]) -> None:
    """Hand in the next micro-batch of several feeds."""
    for feed, table in tables:
        feed.write(table)


class ScriptedQuery:
    """A query over a feed's pipeline, from its start to its stop; `batch` runs one micro-batch."""

    def __init__(self, feed: Feed, leaving: DataFrame, folder: Path) -> None:
        self._feed = feed
        self._leaving = leaving.select(*COLUMNS)
        self._checkpoint = str(folder / "checkpoint")
        self._java: Any = jvm_of(leaving.sparkSession)
        self._clock = self._java.org.apache.spark.util.ManualClock(0)
        self._query: Any = None
        self._last = -1

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._query.stop()

    def restart(self) -> None:
        """Stop, and go on from the checkpoint."""
        self._query.stop()
        self._start()

    def batch(self, table: pa.Table | None, clock: int) -> list[Left]:
        """Run one micro-batch at `clock` (milliseconds), and give what leaves it.

        Without a table it is the last: the input ends.
        """
        self._clock.setTime(clock)
        self._feed.end() if table is None else self._feed.write(table)
        return self._left()

    def end_anew(self, clock: int) -> list[Left]:
        """The last micro-batch, of a query that is started again when the end has been said, as `write_to` does it.

        Stages with an exchange before them look for the end each by itself. So all of them see it together.
        """
        return self.anew(self._feed.end, clock)

    def anew(self, come: Callable[[], object], clock: int) -> list[Left]:
        """One micro-batch, of a query that is started again when all has `come` that belongs to it."""
        self._query.stop()
        self._clock.setTime(clock)
        come()
        self._start()
        return self._left()

    def _left(self) -> list[Left]:
        """What leaves the next micro-batch, which is the only one."""
        self._process()
        assert self._sink.latestBatchId().get() == self._last + 1, "a file is a micro-batch"
        rows = self._java.scala.jdk.javaapi.CollectionConverters.asJava(self._sink.dataSinceBatch(self._last))
        self._last += 1
        return [{name: row.get(place) for place, name in enumerate(COLUMNS)} for row in rows]

    def _process(self) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                self._query.processAllAvailable()
            except StreamingQueryException as problem:
                if "failed to connect back" not in str(problem) or attempt == _ATTEMPTS - 1:
                    raise
                self._start()
            else:
                return

    def _start(self) -> None:
        java, streaming = self._java, self._java.org.apache.spark.sql.streaming
        self._sink = self._java.org.apache.spark.sql.execution.streaming.sources.MemorySink()
        nothing = java.scala.Option.empty()
        manager = java_session(self._leaving.sparkSession).sessionState().streamingQueryManager()
        self._query = manager.startQuery(
            nothing,
            nothing,
            java.scala.Option.apply(self._checkpoint),
            java_frame(self._leaving),
            java.PythonUtils.toScalaMap({}),
            self._sink,
            streaming.OutputMode.Append(),
            False,  # no temporary checkpoint
            True,  # go on from the checkpoint if there is one
            streaming.Trigger.ProcessingTime(0),
            self._clock,
            nothing,
            nothing,
        )
