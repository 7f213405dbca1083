"""A vector's steps on the processor that runs on Spark, one micro-batch a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from fanlight.kernels.times import read_times
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.bind import bind
from fanlight.operators.ingest.inputs import Watermarks
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.word import NO_WORD, Word


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one micro-batch takes in, and what it acts on; with it the input may end."""

    records: pa.RecordBatch | None
    watermark: Timestamp
    clock: Timestamp
    ends: bool = False


class MicroBatches(ABC):
    """A vector's steps as micro-batches.

    Spark moves its watermark itself, so the vector's own strategy is run here and the processor is told its outcome. A
    micro-batch is judged as a whole; a strategy that judges record by record says the same about a bundle of one.
    """

    def __init__(self, spec: StreamSpec, schema: pa.Schema) -> None:
        refuse(spec)
        self.spec: StreamSpec = replace(spec, watermark=BoundedDisorder(Duration(0)))  # type: ignore[type-var]
        self.bound = bind(self.spec, schema)
        self._per_record = isinstance(spec.watermark, BoundedDisorder) and spec.watermark.per_record
        self._watermarks = Watermarks(spec.watermark)
        self._clock: Timestamp = START_OF_TIME
        self._firings: list[pa.RecordBatch] = []
        self._letters: list[pa.RecordBatch] = []

    @abstractmethod
    def run(self, batch: MicroBatch) -> Iterable[tuple[str, bytes]]:
        """Run one micro-batch; the kind and the chunk of what leaves."""

    def bundle(self, records: pa.RecordBatch, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Take records in, as one step."""
        if self._per_record and len(records) > 1:
            raise NotAdoptedError("Spark judges a micro-batch as a whole, and this bundle is judged record by record")
        self._move(clock)
        self._watermarks.observe(side, self._greatest(records), self._clock)
        self._step(records)

    def watermark(self, watermark: Timestamp, *, side: str | None, clock: Timestamp | None, word: Word) -> None:
        """Move the watermark, of one input if `side` names it.

        At the end of time it expires every window whose lateness is not forever, as the end of the input does; Spark's
        own comes only as far as times of records can.
        """
        self._move(clock)
        self._watermarks.explicit(side, watermark)
        self._step(ends=self._watermarks.current == END_OF_TIME and not _waits_forever(self.spec))

    def clock(self, clock: Timestamp, *, word: Word = NO_WORD) -> None:
        """Move the clock."""
        self._move(clock)
        self._step()

    def signal(self, word: Word) -> None:
        """Let a step pass: no trigger here heeds the signal."""
        self._step()

    def tick(self) -> None:
        """Let a step pass in which nothing comes."""
        self._step()

    def end(self) -> None:
        """The input ends."""
        self._step(ends=True)

    def firings(self) -> pa.Table:
        """The firings since the last call."""
        fired, self._firings = self._firings, []
        return pa.Table.from_batches(fired, schema=self.bound.result)

    def dead_letters(self) -> pa.Table:
        """The dead letters since the last call."""
        rejected, self._letters = self._letters, []
        return pa.Table.from_batches(
            rejected, schema=DeadLetters(self.bound.schema, of_times=self.bound.of_times).schema
        )

    def reached(self) -> Timestamp:
        """The watermark that the last micro-batch acted on."""
        return self._watermarks.current

    def _greatest(self, records: pa.RecordBatch) -> Timestamp | None:
        """The greatest event time; windows of another time read none."""
        if self.spec.domain is not TimeDomain.EVENT:
            return None
        times, faults = read_times(records.column(self.spec.time), self.spec.unit)
        readable = times[faults == 0]
        return int(readable.max()) if len(readable) else None

    def _move(self, clock: Timestamp | None) -> None:
        if clock is not None:
            self._clock = max(self._clock, clock)
            self._watermarks.tick(self._clock)

    def _step(self, records: pa.RecordBatch | None = None, *, ends: bool = False) -> None:
        left = {FIRING: self._firings, LETTER: self._letters}
        for kind, chunk in self.run(MicroBatch(records, self._watermarks.current, self._clock, ends)):
            left[kind].append(opened(chunk))


class SparkDriver(MicroBatches):
    """The real processor and the real packer, with state in memory; `preaggregates` is as in `ShardTester`."""

    def __init__(self, spec: StreamSpec, schema: pa.Schema, *, preaggregates: bool = True) -> None:
        super().__init__(spec, schema)
        self._tester = ShardTester(self.spec, schema, preaggregates=preaggregates)

    def run(self, batch: MicroBatch) -> Iterable[tuple[str, bytes]]:
        """Run one micro-batch; the kind and the chunk of what leaves."""
        records = [] if batch.records is None else [batch.records]
        rows = self._tester.batch(records, watermark=batch.watermark, clock=batch.clock, ends=batch.ends)
        return [(row["kind"], row["payload"]) for row in rows if row["kind"] != ACCOUNT]

    def checkpoint_restore(self) -> None:
        """Nothing to do: every micro-batch makes a new processor, and only the state outlives it."""

    def state(self) -> pa.Table:
        """The live windows and what is in them."""
        shard = self._tester.shard()
        return shard.require_operator().windows(shard.watermark, None, None)


def refuse(spec: StreamSpec) -> None:
    """Raise the reason if Spark cannot carry this spec."""
    if spec.waits_for_signal:
        raise NotAdoptedError("a trigger that waits for the caller's signal has no caller on Spark")


def _waits_forever(spec: StreamSpec) -> bool:
    return isinstance(spec, WindowSpec) and spec.lateness.is_forever
