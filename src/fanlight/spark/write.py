"""`write_to`: one query that hands every batch, whole, to the sinks of a result."""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from fanlight.errors import EngineError, SpecError, StateError
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.sinks.batch import Part
from fanlight.sinks.database.sink import DatabaseSink
from fanlight.sinks.files import is_url
from fanlight.sinks.ledger import REFUSE, accepting
from fanlight.sinks.parquet import ParquetSink
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import STOP, Properties, Target, sinks_of
from fanlight.sinks.unique_columns import Unique
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.manifest import BEGUN, Manifest, guard
from fanlight.spark.checkpoint.signals import Signals
from fanlight.spark.delivery import SparkDelivery
from fanlight.spark.jdbc.connection import JdbcDatabase
from fanlight.spark.last_watermark import forget
from fanlight.spark.query_run import after
from fanlight.spark.require_jvm import require_jvm
from fanlight.spark.task_files import CODECS, PartFiles, written_alike

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

    from fanlight.spark.run import SparkRun

_CODEC = "spark.sql.parquet.compression.codec"


def write(
    run: SparkRun,
    target: Target,
    *,
    table: str | None = None,
    dead_letters: Target | None = None,
    accounting: Target | Literal[False] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    available_now: bool = False,
    flush: bool = False,
    every: DurationLike | None = None,
    name: str | None = None,
    unique: Unique | None = None,
    properties: Properties | None = None,
    keep: DurationLike | None = None,
    refused: str = STOP,
    on_mismatch: str = REFUSE,
) -> StreamingQuery | None:
    """Write a result, its dead letters and its accounting; a stream's query is started and returned.

    `target`, `dead_letters` and `accounting` are each the URL of a database (with `table`), a folder, a file of JSON
    lines, a function of (rows, batch) or a `BatchSink`; the latter two go beside the first unless they are told where,
    and `accounting=False` leaves it out. `keep` is how long those two stay in a database, in event time.
    `unique` are columns by which a later row takes the place of an earlier one, for a result without windows.
    `refused="letters"` puts rows that the database does not take among the dead letters, instead of stopping.
    `available_now` takes what is there and ends; `flush` then ends the input, so that every open window fires: the call
    returns when all is read, with the query that lets them, and a record that comes after that is a dead letter.
    `every` starts a batch that often. A batch DataFrame is written once, as batch 0 of the query `name`; without a name
    every call is a query of its own. `on_mismatch="accept"` lets the first batch go to places that hold an older or a
    newer state of the query than the checkpoint does, which are refused otherwise.
    """
    accepts = accepting(on_mismatch)
    shape = shape_of(run)
    sinks = sinks_of(
        shape,
        target,
        table=table,
        dead_letters=dead_letters,
        accounting=accounting,
        unique=unique,
        properties=properties,
        keep=None if keep is None else Duration.of(keep),
        refused=refused,
        jdbc=JdbcDatabase,
    )
    _require_reach(sinks, run.source.sparkSession)
    if not run.source.isStreaming:
        _require_batch(checkpoint=checkpoint, available_now=available_now, every=every)
        BatchWriter(sinks, shape, accepts=accepts).deliver(run.leaving(), name or f"batch-{uuid.uuid4().hex}", 0)
        return None
    if checkpoint is None:
        raise SpecError(
            "write_to: a stream needs `checkpoint`, a folder that keeps its state and how far it has read; without it "
            "a restart would begin again and write everything twice. Name one, as in checkpoint='checkpoint/'."
        )
    if available_now and every is not None:
        raise SpecError("write_to: `available_now` ends when all is read, and `every` never does. Use one of them.")
    if flush and not available_now:
        raise SpecError("write_to: `flush` ends the input with what is there now. Say available_now=True as well.")
    place = os.fspath(checkpoint)
    lease = guard(place, Manifest.of(run))
    try:
        signals = Signals.of(place)
        writer = BatchWriter(sinks, shape, place, accepts=accepts)
        writing = run.leaving(signals.folder).writeStream.foreachBatch(writer)
        writing = writing.outputMode("append").option("checkpointLocation", place)
        if name is not None:
            writing = writing.queryName(name)
        if available_now:
            writing = writing.trigger(availableNow=True)
        elif every is not None:
            writing = writing.trigger(processingTime=f"{Duration.of(every).micros} microseconds")
        earlier: list[StreamingQueryProgress] = []
        if flush:
            reading = writing.start()
            reading.awaitTermination()
            earlier = list(reading.recentProgress)
            signals.end()
        query = after(earlier, writing.start())
    except BaseException:
        lease.release()
        raise
    lease.follow(query, partial(forget, str(query.id)))
    return query


def describe(
    run: SparkRun,
    target: Target,
    *,
    table: str | None = None,
    dead_letters: Target | None = None,
    accounting: Target | Literal[False] | None = None,
    unique: Unique | None = None,
    properties: Properties | None = None,
) -> str:
    """Where `write` would put each part of a result, and what is guaranteed there, a line each; nothing is written."""
    sinks = sinks_of(
        shape_of(run),
        target,
        table=table,
        dead_letters=dead_letters,
        accounting=accounting,
        unique=unique,
        properties=properties,
        jdbc=JdbcDatabase,
    )
    lines = {
        part: f"{part.value.replace('_', ' ')} → {place}\n    {sink.guarantee}"
        for sink in sinks
        for part, place in sink.places.items()
    }
    return "\n".join(lines[part] for part in Part if part in lines)


def shape_of(run: SparkRun) -> ResultShape:
    """The shape of a run's result, for its sinks."""
    return ResultShape.of(run.spec, run.bound, run.letters)


class BatchWriter:
    """The function that Spark calls with each batch. It has plain values only: Connect sends it to another process."""

    def __init__(
        self, sinks: tuple[Sink, ...], shape: ResultShape, checkpoint: str | None = None, *, accepts: bool = False
    ) -> None:
        """`accepts` concerns only the first batch: later ones always follow it."""
        self._sinks = sinks
        self._shape = shape
        self._checkpoint = checkpoint
        self._query: str | None = None
        self._accepts = accepts
        self._checked = False

    def __call__(self, output: DataFrame, number: int) -> None:
        """Called by Spark, once for each batch and again for one that a crash left unfinished."""
        if self._query is None:
            assert self._checkpoint is not None
            self._query = durable_id(output.sparkSession, self._checkpoint)
        assert self._checkpoint is not None
        self.deliver(output, self._query, number, offsets_of(self._checkpoint, number))

    def deliver(self, frame: DataFrame, query: str, number: int, offsets: int | None = None) -> None:
        """Hand the batch to every sink.

        Every sink checks the first batch before any writes it, so that a refusal by one leaves all unchanged.
        """
        files = drafts_of(self._sinks, self._shape, number, frame.sparkSession)
        accepts = self._accepts
        whole = any(sink.sees_all for sink in self._sinks)
        delivery = SparkDelivery(
            query, number, frame, self._shape, offsets=offsets, accepts=accepts, drafts=files, whole=whole
        )
        if not self._checked:
            for sink in self._sinks:
                sink.check(delivery)
            self._checked = True
        with delivery.computed():
            for sink in self._sinks:
                sink.write(delivery)
        self._accepts = False


def drafts_of(
    sinks: Iterable[Sink], shape: ResultShape, number: int, session: SparkSession
) -> dict[Part, PartFiles] | None:
    """The files that tasks write of a batch, by part; None if Spark must write folders, all of them.

    The accounting is little: it is collected, and the driver writes it.
    """
    folders = [sink for sink in sinks if isinstance(sink, ParquetSink)]
    if not folders:
        return {}
    codec = CODECS.get(str(session.conf.get(_CODEC)).lower())
    schemas = {Part.ROWS: shape.rows, Part.DEAD_LETTERS: shape.dead_letters}
    by_tasks = [sink for sink in folders if sink.part in schemas]
    if codec is None or any(is_url(sink.path) for sink in folders):
        return None
    if not all(written_alike(schemas[sink.part]) for sink in by_tasks):
        return None
    return {sink.part: PartFiles(sink.drafts(number), schemas[sink.part], codec) for sink in by_tasks}


def offsets_of(checkpoint: str, number: int) -> int | None:
    """A digest of the offsets and start time of a batch: Spark writes both once, before the first attempt.

    None if this process cannot see what Spark wrote.
    """
    try:
        noted = Folder.of(checkpoint).read(f"{BEGUN}/{number}")
    except (EngineError, OSError):  # over Spark Connect, another process has read the manifest
        return None
    return None if noted is None else int.from_bytes(hashlib.sha256(noted).digest()[:8], signed=True)


def durable_id(session: SparkSession, checkpoint: str) -> str:
    """The id that a query keeps as long as its checkpoint: Spark writes it there when the query first starts."""
    # Spark reads a path as a pattern
    path = re.sub(r"([\\\[\]{}*?])", r"\\\1", checkpoint.rstrip("/"))
    try:
        lines = [row[0] for row in session.read.text(f"{path}/metadata").collect()]
        return str(json.loads("".join(lines))["id"])
    except (PySparkException, Py4JError, ValueError, KeyError, TypeError) as problem:
        raise StateError(
            f"The file 'metadata' of the checkpoint {checkpoint!r} is gone or damaged; Spark keeps there which query "
            "it is, and without that no sink knows whose batches it has. Nothing was written. Restore the file from a "
            "copy of the checkpoint, or start anew with another checkpoint."
        ) from problem


def _require_reach(sinks: tuple[Sink, ...], session: SparkSession) -> None:
    for sink in sinks:
        if isinstance(sink, DatabaseSink) and isinstance(sink.database, JdbcDatabase):
            require_jvm(session, sink.database.address)
        elif isinstance(sink, ParquetSink) and is_url(sink.path):
            require_jvm(session, sink.path)


def _require_batch(**given: object) -> None:
    said = [name for name, value in given.items() if value]
    if said:
        raise SpecError(
            f"write_to: `{said[0]}` is for streams, and this is a batch DataFrame, which is read and written once. "
            "Leave it out."
        )
