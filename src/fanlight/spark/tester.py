"""Run a shard's processor with a given watermark and clock: no session, no Java.

PySpark's `TwsTester` keeps state in memory; this module runs micro-batches on it, as Spark does:

    a new processor over the state ─► the rows of the shard, with watermark and clock
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import chain

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.ingest.bundle import TimeReader, times_in
from fanlight.operators.shard import Shard
from fanlight.operators.stage_chain import StagePlan
from fanlight.spark.bound_once import bound_once
from fanlight.spark.pack import FAR, SHARD, Sent, broadcast, pack_by_shard
from fanlight.spark.processor import ShardProcessor
from fanlight.spark.store import CHUNKS, KEYS, VALUES, SparkStore

ONLY = 0
"""The id of the only shard."""

_MILLISECOND = 1_000
_A_ROW = pa.record_batch({"end": [True]})


class ShardTester:
    """One shard on the real processor: `batch` by batch, rows in through the real packer, `OUTPUT` rows out.

    Times are microseconds. `preaggregates` says whether the packer knows how far the shard has come, as it does on the
    machine the last batch ran on; where it does not, it pre-aggregates nothing.
    """

    def __init__(self, spec: StreamSpec, schema: pa.Schema, *, preaggregates: bool = True) -> None:
        self.spec = spec
        self.schema = schema
        self._preaggregates = preaggregates
        self._times = TimeReader.of(spec)
        self._bind = bound_once(spec, schema)
        bound = self._bind()
        letters = DeadLetters(bound.schema, of_times=bound.of_times).schema
        self._processor = ShardProcessor([StagePlan(spec, self._bind)], letters)
        self._pack = pack_by_shard(spec, schema, [ONLY], self._horizon, heartbeat=True)
        self._tester = TwsTester(copy(self._processor))
        self._clock: Timestamp = START_OF_TIME

    def batch(
        self, records: Sequence[pa.RecordBatch], *, watermark: Timestamp, clock: Timestamp, ends: bool = False
    ) -> list[Row]:
        """Run one micro-batch with this watermark and clock; `ends` says whether the input ends with it.

        The shard takes part in every batch: one without records is a heartbeat.
        """
        told = min(watermark, LATEST)  # it follows times of records, so it never comes to the end of time
        self._clock = max(self._clock, min(clock, LATEST) // _MILLISECOND * _MILLISECOND)  # as exact as Spark's
        times = {"watermark": told, "clock": self._clock}
        marked = [self._marked(batch) for batch in records]
        come = [Row(**{**row.asDict(), **times}) for row in self._sealed(marked, ends=ends)]
        self._renew()
        leaving: list[Row] = self._tester.test(ONLY, come)
        return leaving

    def shard(self) -> Shard:
        """The shard between two batches, for reading."""
        self._tester.handle.setGroupingKey(ONLY)
        chunks = self._tester.handle.getMapState(CHUNKS, KEYS, VALUES)
        return Shard(self.spec, SparkStore(chunks), bound=self._bind(), followed=Explicit())

    def _renew(self) -> None:
        """Take a new copy of the processor, as Spark does for each micro-batch: only stored state survives."""
        processor = self._tester.processor = copy(self._processor)
        processor.init(self._tester.handle)

    def _marked(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The records, with a mark on those that Spark would find too far ahead of the clock."""
        limit = self._times.furthest(self._clock)
        if limit == END_OF_TIME:
            return records
        times, _ = times_in(records, self.spec.time, self.spec.unit)
        return records.append_column(FAR, pa.array(times > limit))

    def _sealed(self, records: Sequence[pa.RecordBatch], *, ends: bool) -> Iterator[Row]:
        placed = (batch.append_column(SHARD, pa.array([0] * len(batch), pa.int32())) for batch in records)
        sealed = self._pack(placed)
        told = broadcast([ONLY], Sent.END)(iter([_A_ROW] if ends else []))
        for rows in chain(sealed, told):
            yield from (Row(**row) for row in rows.to_pylist())

    def _horizon(self) -> Timestamp | None:
        return self.shard().watermark if self._preaggregates else None
