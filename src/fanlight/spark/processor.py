"""One shard on Spark: chunks in, `ShardOperator.step`, what leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.operators.intake import conform, with_times
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.spark.leaving import leaving_of
from fanlight.spark.store import KEYS, VALUES, SparkStore
from fanlight.state.codec import decode

_MILLISECOND = 1_000


class ShardProcessor(StatefulProcessor):
    """Runs a spec on every shard of a partition. Parameter names are PySpark's: it calls by keyword."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema) -> None:
        self._spec = spec
        self._schema = schema

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called once for each partition and micro-batch."""
        self._handle = handle
        self._plan = Plan.bind(self._spec, self._schema)
        self._chunks = handle.getMapState("chunks", KEYS, VALUES)
        self._stepped: set[int] = set()
        self._batch = batch_number()

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called once for each shard that chunks have come for."""
        shard = ShardOperator(self._plan, SparkStore(self._chunks))
        come = sorted(rows, key=lambda row: (row["origin"], row["sequence"]))
        chunks = [decode(bytes(row["payload"])) for row in come if row["payload"] is not None]
        yield from self._step(shard, key[0], chunks, timerValues)

    def handleExpiredTimer(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 -- PySpark's name
    ) -> Iterator[Row]:
        """Called when the watermark has moved on for a shard that still holds something."""
        if key[0] not in self._stepped:
            yield from self._step(ShardOperator(self._plan, SparkStore(self._chunks)), key[0], [], timerValues)

    def _step(self, shard: ShardOperator, name: int, chunks: list[pa.RecordBatch], times: TimerValues) -> Iterator[Row]:
        self._stepped.add(name)
        before = replace(shard.accounting)
        bundle = bundle_of(shard, chunks)
        reached = times.getCurrentWatermarkInMs()
        watermark = reached * _MILLISECOND if reached > 0 else START_OF_TIME
        clock = times.getCurrentProcessingTimeInMs() * _MILLISECOND
        firings = shard.step(bundle, watermark, clock)
        if shard.is_live:
            self._handle.registerTimer(max(reached, 0) + 1)
        for row in leaving_of(shard, firings, before, batch=self._batch, name=name):
            yield Row(**row)


def batch_number() -> int:
    """The number of the micro-batch that this task belongs to; 0 outside of one."""
    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty("streaming.sql.batchId")
    return int(number) if number else 0


def bundle_of(shard: ShardOperator, chunks: list[pa.RecordBatch]) -> Bundle | None:
    """The records of several chunks as one bundle; their times are read here, and unreadable ones buried."""
    if not chunks:
        return None
    table = pa.Table.from_batches([conform(chunk, shard.plan.schema) for chunk in chunks]).combine_chunks()
    batch = table.to_batches()[0]
    shard.accounting.received += len(batch)
    judged: Timestamp = shard.watermark
    batch, times = with_times(shard.plan, batch, shard.letters, shard.accounting, judged)
    return Bundle(batch, times, np.array([judged]))
