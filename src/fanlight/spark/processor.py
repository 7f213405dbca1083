"""One shard on Spark: chunks in, `ShardOperator.step`, firings out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
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
from fanlight.spark.store import KEYS, VALUES, SparkStore
from fanlight.state.codec import decode, encode

LEAVING = "kind string, payload binary"
FIRING, LETTER = "firing", "letter"
"""What leaves a shard: chunks of firings, and chunks of dead letters."""

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

    def handleInputRows(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called once for each shard that chunks have come for."""
        shard = ShardOperator(self._plan, SparkStore(self._chunks))
        frame = pd.concat(list(rows)).sort_values(["origin", "sequence"], kind="stable")
        chunks = [decode(bytes(payload)) for payload in frame["payload"] if payload is not None]
        yield from self._fired(shard, bundle_of(shard, chunks), timerValues)

    def handleExpiredTimer(  # noqa: N802 -- PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803 -- PySpark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803 -- PySpark's name
    ) -> Iterator[pd.DataFrame]:
        """Called when the watermark has moved on for a shard that still holds something."""
        shard = ShardOperator(self._plan, SparkStore(self._chunks))
        yield from self._fired(shard, None, timerValues)

    def _fired(self, shard: ShardOperator, bundle: Bundle | None, times: TimerValues) -> Iterator[pd.DataFrame]:
        reached = times.getCurrentWatermarkInMs()
        watermark = reached * _MILLISECOND if reached > 0 else START_OF_TIME
        clock = times.getCurrentProcessingTimeInMs() * _MILLISECOND
        leaving = shard.step(bundle, watermark, clock)
        if shard.is_live:
            self._handle.registerTimer(max(reached, 0) + 1)
        chunks = leaving_of(shard, leaving)
        if chunks:
            yield pd.DataFrame(chunks, columns=["kind", "payload"])


def leaving_of(shard: ShardOperator, firings: list[pa.RecordBatch]) -> list[tuple[str, bytes]]:
    """What a step gave, as chunks by kind: its firings and its dead letters."""
    letters = shard.letters.take().to_batches()
    return [*((FIRING, encode(batch)) for batch in firings), *((LETTER, encode(batch)) for batch in letters)]


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
