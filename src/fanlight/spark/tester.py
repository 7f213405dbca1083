"""A shard's processor under a watermark and a clock that the caller sets: no session, no Java.

PySpark's `TwsTester` keeps state in memory; what is here makes a micro-batch of it, as Spark runs one:

    a new processor over the state ─► the rows of the shard, with watermark and clock
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from fanlight.kernels.times import read_times
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.operators.intake import furthest
from fanlight.operators.plan import Plan, plain
from fanlight.operators.shard import ShardOperator
from fanlight.spark.envelope import FAR, SHARD, Sent, seal, telling
from fanlight.spark.processor import ShardProcessor
from fanlight.spark.store import CHUNKS, KEYS, VALUES, SparkStore

ONLY = 0
"""The id of the one shard there is: what a vector asks of an operator, it asks of one shard."""

_MILLISECOND = 1_000
_A_ROW = pa.record_batch({"end": [True]})


class ShardTester:
    """One shard on the real processor: `batch` by batch, rows in through the real envelope, `LEAVING` rows out.

    Times are microseconds. `folds` says whether the envelope knows how far the shard has come, as it does on the
    machine the last batch ran on; where it does not, it folds nothing.
    """

    def __init__(self, spec: WindowSpec, schema: pa.Schema, *, folds: bool = True) -> None:
        self.spec = spec
        self.schema = schema
        self._folds = folds
        self._tester = TwsTester(self._processor())
        self._clock: Timestamp = START_OF_TIME

    def batch(
        self, records: Sequence[pa.RecordBatch], *, watermark: Timestamp, clock: Timestamp, ends: bool = False
    ) -> list[Row]:
        """One micro-batch: the watermark it acts on, the clock it was started at, whether the input ends with it.

        The shard hears of every batch: what comes without records is a heartbeat.
        """
        told = min(watermark, LATEST)  # it follows times of records, so it never comes to the end of time
        self._clock = max(self._clock, min(clock, LATEST) // _MILLISECOND * _MILLISECOND)  # as exact as Spark's
        times = {"watermark": told, "clock": self._clock}
        marked = [self._marked(batch) for batch in records]
        come = [Row(**{**row.asDict(), **times}) for row in self._sealed(marked, ends=ends)]
        self._renew()
        leaving: list[Row] = self._tester.test(ONLY, come)
        return leaving

    def shard(self) -> ShardOperator:
        """The shard as it stands between two batches, to be read."""
        self._tester.handle.setGroupingKey(ONLY)
        chunks = self._tester.handle.getMapState(CHUNKS, KEYS, VALUES)
        return ShardOperator(Plan.bind(self.spec, self.schema), SparkStore(chunks))

    def _renew(self) -> None:
        """Spark makes a processor for each micro-batch: only what is in the state outlives one."""
        processor = self._tester.processor = self._processor()
        processor.init(self._tester.handle)

    def _processor(self) -> ShardProcessor:
        return ShardProcessor(self.spec, self.schema)

    def _marked(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The records, each with whether Spark would find it too far ahead of the clock."""
        limit = furthest(self.spec, self._clock)
        if limit == END_OF_TIME:
            return records
        times, _ = read_times(plain(records.column(self.spec.time)), self.spec.unit)
        return records.append_column(FAR, pa.array(times > limit))

    def _sealed(self, records: Sequence[pa.RecordBatch], *, ends: bool) -> Iterator[Row]:
        placed = (batch.append_column(SHARD, pa.array([0] * len(batch), pa.int32())) for batch in records)
        sealed = seal(self.spec, self.schema, [ONLY], self._horizon, heartbeat=True)(placed)
        told = telling([ONLY], Sent.END)(iter([_A_ROW] if ends else []))
        for rows in chain(sealed, told):
            yield from (Row(**row) for row in rows.to_pylist())

    def _horizon(self) -> Timestamp | None:
        return self.shard().watermark if self._folds else None
