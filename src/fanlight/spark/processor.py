"""One shard on Spark: chunks in, `ShardOperator.step`, what leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from fanlight.errors import StateError
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.folding import Folded, Folding
from fanlight.operators.intake import with_times
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.spark import horizon
from fanlight.spark.envelope import Sent
from fanlight.spark.leaving import LeavingRow, leaving_of
from fanlight.spark.store import KEYS, VALUES, SparkStore
from fanlight.state.codec import decode

_MILLISECOND = 1_000


class ShardProcessor(StatefulProcessor):
    """Runs a spec on every shard of a partition. Parameter names are PySpark's: it calls by keyword."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema, stage: int = 1) -> None:
        self._spec = spec
        self._schema = schema
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self._handle = handle
        self._plan = Plan.bind(self._spec, self._schema)
        self._chunks = handle.getMapState("chunks", KEYS, VALUES)
        self._stepped: set[int] = set()
        self._batch = horizon.batch_number()

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called once for each shard that chunks have come for."""
        come = sorted(rows, key=lambda row: (row["origin"], row["sequence"]))
        yield from self._step(key[0], come, timerValues)

    def handleExpiredTimer(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called when the watermark has moved on for a shard that still holds something."""
        if key[0] not in self._stepped:
            yield from self._step(key[0], [], timerValues)

    def _step(self, name: int, come: list[Any], times: TimerValues) -> Iterator[Row]:
        self._stepped.add(name)
        shard = ShardOperator(self._plan, SparkStore(self._chunks))
        before = replace(shard.accounting)
        bundle, folded = unpacked(shard, come)
        reached = times.getCurrentWatermarkInMs()
        watermark = reached * _MILLISECOND if reached > 0 else START_OF_TIME
        clock = times.getCurrentProcessingTimeInMs() * _MILLISECOND
        firings = shard.step(bundle, watermark, clock, folded=folded)
        if any(row["kind"] == Sent.END for row in come):
            firings += shard.end()
        if shard.is_live:
            self._handle.registerTimer(max(reached, 0) + 1)
        horizon.leave(shard.watermark)
        for row in leaving_of(shard, firings, before, stage=self._stage, batch=self._batch, name=name):
            yield Row(**row)
        yield from (Row(**row) for row in passed(come))


def passed(come: list[Any]) -> Iterator[LeavingRow]:
    """What the stage before let leave besides its firings; it goes on as it is."""
    for row in come:
        if row["kind"] == Sent.PASSED:
            yield from decode(bytes(row["payload"])).to_pylist()


def unpacked(shard: ShardOperator, come: list[Any]) -> tuple[Bundle | None, Folded | None]:
    """What an envelope's rows bring, in their order, as one bundle: records as they are, and folded ones."""
    chunks: dict[str, list[pa.RecordBatch]] = {Sent.RECORDS: [], Sent.FOLDED: []}
    for row in come:
        if row["kind"] in chunks:
            chunks[row["kind"]].append(decode(bytes(row["payload"])))
    return _bundle(shard, chunks[Sent.RECORDS]), _folded(shard, chunks[Sent.FOLDED])


def _bundle(shard: ShardOperator, chunks: list[pa.RecordBatch]) -> Bundle | None:
    if not chunks:
        return None
    batch = pa.concat_batches(chunks)
    shard.accounting.received += len(batch)
    judged: Timestamp = shard.watermark
    batch, times = with_times(shard.plan, batch, shard.letters, shard.accounting, judged)
    return Bundle(batch, times, np.array([judged]))


def _folded(shard: ShardOperator, chunks: list[pa.RecordBatch]) -> Folded | None:
    if not chunks:
        return None
    folding = Folding(shard.plan)
    folded = folding.read(chunks)
    dead = 0 if folded is None else folding.expired(folded, shard.watermark)
    if dead:
        raise StateError(
            f"{dead} records came folded for windows that had expired: the envelope was told a watermark of another "
            f"run of this query. Remove the folder {horizon.place()} and start the query again; nothing is lost."
        )
    shard.accounting.received += 0 if folded is None else folded.records
    return folded
