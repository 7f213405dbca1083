"""Pack rows into chunks by shard for Spark's shuffle, and unpack chunks into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from fanlight.kernels.grouping.groups import Ints, order_of, runs
from fanlight.model.join.sides import COPY
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, WatermarkStrategy
from fanlight.operators.ingest.bundle import TimeReader, times_in
from fanlight.operators.ingest.conform import conform
from fanlight.operators.ingest.inputs import Watermarks
from fanlight.operators.ingest.prepare import Gate
from fanlight.operators.operator import BoundSpec
from fanlight.operators.preaggregator import PreAggregator
from fanlight.spark import in_doubt
from fanlight.spark.bound_once import bound_once
from fanlight.spark.far_ahead import Marks, unmarked
from fanlight.spark.output import acted_on, chunks_of
from fanlight.spark.shards import places_of
from fanlight.spark.spreading import Spreading
from fanlight.spark.wire import in_pieces, opened, packed_each

SHARD = "_fanlight_shard"
"""The column with a row's shard, by position, if Spark has hashed the keys; it is not part of the chunk."""
PASSED = "_fanlight_passed"
"""The column with an earlier stage's output besides firings; a row that has it is not a record."""


class Sent(StrEnum):
    """What a packed row brings to its shard."""

    RECORDS = "records"
    PREAGGREGATED = "preaggregated"
    PASSED = "passed"
    FILTERED = "filtered"
    IN_DOUBT = "in_doubt"
    HEARTBEAT = "heartbeat"
    END = "end"


PACKED = "shard int, origin int, sequence int, kind string, payload binary, watermark bigint, input int"
_SCHEMA = pa.schema(
    {
        "shard": pa.int32(),
        "origin": pa.int32(),
        "sequence": pa.int32(),
        "kind": pa.string(),
        "payload": pa.binary(),
        "watermark": pa.int64(),
        "input": pa.int32(),
    }
)

_SEVERAL = 2
"""One record alone cannot become fewer rows."""
_ROWS = 1 << 20
_GATHERED = 1 << 26
"""The most rows and bytes packed at once, so that memory is bounded however large the micro-batch is."""


class StageBefore(NamedTuple):
    """The stage whose rows are packed: its place in the pipeline, and what watermark it hands on."""

    number: int
    spec: StreamSpec


class Packing(NamedTuple):
    """What is special about the input that is packed: most pipelines have one, packed as it is."""

    place: int = 0
    """Which one of several inputs it is."""
    after: StageBefore | None = None
    """The stage whose rows it has; None if it is a source."""
    intake: Intake | None = None
    """What is done to its records first."""
    watermark: WatermarkStrategy | None = None
    """How its watermark follows its records; None: as the spec says."""
    marks: Marks | None = None
    """Which times are marked because they may be too far ahead of the clock; None if none can be."""


Batches = Iterator[pa.RecordBatch]
Horizon = Callable[[], Timestamp | None]


def pack_by_shard(
    spec: StreamSpec,
    schema: pa.Schema,
    ids: list[int],
    horizon: Horizon,
    *,
    heartbeat: bool,
    packing: Packing | None = None,
) -> Callable[[Batches], Batches]:
    """The function that packs rows into chunks by shard; with a heartbeat, tasks send the watermark to every shard.

    Each task with rows sends it, and the first task always does. So every shard acts in every batch, on the same
    watermark: that of all records up to and including this batch. No shard starts before all tasks have ended.

    Records that no watermark up to `horizon` makes dead letters of are pre-aggregated, where the spec allows it.
    """
    bind = bound_once(spec, schema)

    def sealed(batches: Batches) -> Batches:
        packer = Packer(spec, bind(), ids, horizon, packing)
        for gathered in _gathered(batches):
            yield packer.pack(gathered)
        if packer.filtered:
            yield packer.tell_filtered()
        if heartbeat and (packer.origin == 0 or packer.has_packed):
            yield packer.tell(Sent.HEARTBEAT)

    return sealed


def broadcast(ids: list[int], kind: Sent) -> Callable[[Batches], Batches]:
    """The function that sends `kind` to every shard, if there is any row."""

    def told(batches: Batches) -> Batches:
        if any(len(batch) for batch in batches):
            nothing = pa.nulls(len(ids), pa.binary())
            yield _packed_rows(ids, _LAST, 0, kind, nothing, START_OF_TIME, place=0)

    return told


def rows_of(kind: str) -> Callable[[Batches], Batches]:
    """The function that unpacks the output of `kind` into rows. Spark could filter by kind, at the cost of a copy."""

    def all_rows(batches: Batches) -> Batches:
        for batch in batches:
            yield from (chunk for _, chunk in chunks_of(batch, (kind,)))

    return all_rows


_LAST = 2**31 - 1
"""An origin after all others: a shard reads the end of input after everything else."""


class Packer:
    """Packs the rows of one task into chunks.

    `origin` and `sequence` number the chunks, so that a shard reads them in the same order whatever the shuffle does.
    """

    def __init__(
        self, spec: StreamSpec, bound: BoundSpec, ids: list[int], horizon: Horizon, packing: Packing | None = None
    ) -> None:
        self._spec = spec
        self._place, self._after, intake, strategy, self._marks = Packing() if packing is None else packing
        times = bound.times or TimeReader.of(spec)
        self._gate = None if intake is None else Gate(intake, times)
        self._unit = spec.unit if intake is None else intake.unit or spec.unit
        self.filtered = 0
        """How many records were left out."""
        self._schema = bound.schema
        self._by_event = times.in_event_time
        self._ids = ids
        self._spreading = Spreading.of(spec, bound.schema, len(ids)) if COPY in bound.schema.names else None
        self._preaggregator = bound.preaggregator
        self._known = horizon() if self._preaggregator else None
        context = TaskContext.get()
        self.origin = 0 if context is None else context.partitionId()
        self._sequence = 0
        self._watermark: Timestamp = START_OF_TIME
        self._strategy = strategy or spec.watermark
        self._watermarks = Watermarks(self._strategy)

    @property
    def has_packed(self) -> bool:
        """Whether anything was packed."""
        return self._sequence > 0

    def pack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The chunks of a batch: pre-aggregated records, and records as they are."""
        if PASSED not in batch.schema.names:
            if self._marks is not None:
                batch, since = unmarked(batch, self._marks.column)
                if since is not None:
                    return self._with_doubtful(batch, self._marks, since)
            batch = self._gated(batch)
            self._follow(batch)
            return self._packed(batch)
        passed = batch.column(PASSED)
        records = self._packed(self._gated(batch.filter(passed.is_null()).drop_columns([PASSED]), moves=False))
        others = passed.drop_null()
        assert self._after is not None  # nothing is passed on by a source
        reached = acted_on((opened(row.as_buffer()) for row in others), self._after.number)
        self._reach(self._after.spec.hands_on(reached))
        return pa.concat_batches([records, self._numbered(self._ids[:1] * len(others), Sent.PASSED, others)])

    def _with_doubtful(self, batch: pa.RecordBatch, marks: Marks, since: Timestamp) -> pa.RecordBatch:
        """The chunks of a batch in which times from `since` on may be too far ahead of the clock.

        Such records go to their shard as they are, are not pre-aggregated and move no watermark here.
        """
        times = _usable(batch, marks.column, self._unit)
        self._see(times[times < since])
        packed = [self._packed(self._gated(batch, moves=False), since)]
        if marks.by_day and self._by_event and isinstance(self._strategy, BoundedDisorder):
            doubtful = np.unique(times[times >= since])
            message = in_doubt.told(doubtful, doubtful - self._strategy.delay.micros)
            packed.append(self._numbered(self._ids, Sent.IN_DOUBT, pa.array([message] * len(self._ids), pa.binary())))
        return pa.concat_batches(packed)

    def _gated(self, batch: pa.RecordBatch, *, moves: bool = True) -> pa.RecordBatch:
        """The records after what is done to them first; if it `moves` the watermark, it does for those left out too."""
        if self._gate is None:
            return batch
        gated = self._gate.take(batch, START_OF_TIME)
        self.filtered += gated.left_out
        if moves and gated.greatest is not None:
            self._observe(gated.greatest)
        if gated.watermark is not None:
            self._reach(gated.watermark)
        return gated.batch

    def _packed(self, batch: pa.RecordBatch, since: Timestamp | None = None) -> pa.RecordBatch:
        """The chunks of records; those with times from `since` on are not pre-aggregated."""
        rows, shards = self._placed(batch)
        if self._preaggregator is None or self._known is None or len(rows) < _SEVERAL:
            return self._chunks(rows, shards, Sent.RECORDS)
        times, slots, doubtful = self._preaggregator.divide(rows, self._known)
        if not self._preaggregator.pays(rows, slots):
            return self._chunks(rows, shards, Sent.RECORDS)
        if since is not None:
            doubtful = times >= since if doubtful is None else doubtful | (times >= since)
        if doubtful is None:
            return self._preaggregated(self._preaggregator, rows, times, slots, shards)
        if doubtful.all():
            return self._chunks(rows, shards, Sent.RECORDS)
        sure = ~doubtful
        parts = [
            self._chunks(rows.filter(pa.array(doubtful)), shards[doubtful], Sent.RECORDS),
            self._preaggregated(
                self._preaggregator, rows.filter(pa.array(sure)), times[sure], slots[sure], shards[sure]
            ),
        ]
        return pa.concat_batches(parts)

    def _placed(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The records of a batch, and their shards by position; with copies, where a join is spread."""
        if self._spreading is not None:
            return self._spreading.placed(batch)
        if SHARD in batch.schema.names:
            return self._conformed(batch.drop_columns([SHARD])), batch.column(SHARD).to_numpy()
        rows = self._conformed(batch)
        keys = [rows.column(name) for name in self._spec.keys]
        return rows, places_of(keys, len(rows), len(self._ids))

    def _conformed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The records, converted to the columns of the shards; nearly always they fit."""
        return rows if rows.schema.equals(self._schema) else conform(rows, self._schema)

    def _follow(self, rows: pa.RecordBatch) -> None:
        """Let the watermark follow the times of records; unusable times do not move it."""
        if self._by_event and len(rows):
            self._see(_usable(rows, self._spec.time, self._spec.unit))

    def _see(self, times: Ints) -> None:
        """Let the watermark follow the greatest of these times, where it is about event time."""
        if self._by_event and len(times):
            self._observe(int(times.max()))

    def _observe(self, greatest: Timestamp) -> None:
        self._watermarks.observe(None, greatest, START_OF_TIME)
        self._reach(self._watermarks.current)

    def _reach(self, watermark: Timestamp) -> None:
        self._watermark = max(self._watermark, watermark)

    def tell(self, kind: Sent) -> pa.RecordBatch:
        """A packed row for every shard."""
        return self._numbered(self._ids, kind, pa.nulls(len(self._ids), pa.binary()))

    def tell_filtered(self) -> pa.RecordBatch:
        """A packed row that says how many records were left out; one shard counts them."""
        return self._numbered(self._ids[:1], Sent.FILTERED, pa.array([self.filtered.to_bytes(8)], pa.binary()))

    def _preaggregated(
        self, preaggregator: PreAggregator, rows: pa.RecordBatch, times: Ints, slots: Ints, shards: Ints
    ) -> pa.RecordBatch:
        chunk, found, codes = preaggregator.aggregate(rows, times, slots)
        shard_of = np.zeros(found.count, shards.dtype)
        shard_of[found.codes] = shards  # all rows of a key have the same shard
        return self._chunks(chunk, shard_of[codes], Sent.PREAGGREGATED)

    def _chunks(self, rows: pa.RecordBatch, shards: Ints, kind: Sent) -> pa.RecordBatch:
        order = order_of(shards)
        ordered, shards = rows.take(pa.array(order)), shards[order]
        bounds = runs(shards)
        owners: list[int] = []
        parts: list[pa.RecordBatch] = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            pieces = in_pieces(ordered.slice(start, end - start))
            owners += [self._ids[shards[start]]] * len(pieces)
            parts += pieces
        return self._numbered(owners, kind, packed_each(parts))

    def _numbered(self, owners: list[int], kind: Sent, payloads: pa.BinaryArray) -> pa.RecordBatch:
        first = self._sequence
        self._sequence += len(owners)
        return _packed_rows(owners, self.origin, first, kind, payloads, self._watermark, place=self._place)


def _packed_rows(
    owners: list[int],
    origin: int,
    first: int,
    kind: Sent,
    payloads: pa.BinaryArray,
    watermark: Timestamp,
    *,
    place: int,
) -> pa.RecordBatch:
    count = len(owners)
    columns = {
        "shard": owners,
        "origin": [origin] * count,
        "sequence": range(first, first + count),
        "kind": [kind.value] * count,
        "payload": payloads,
        "watermark": [watermark] * count,
        "input": [place] * count,
    }
    return pa.record_batch(columns, schema=_SCHEMA)


def _usable(rows: pa.RecordBatch, column: str, unit: TimeUnit | None) -> Ints:
    """The times in a column that a record may have."""
    times, faults = times_in(rows, column, unit)
    return times[faults == 0] if faults.any() else times


def _gathered(batches: Batches) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + len(batch), size + batch.nbytes
        if rows >= _ROWS or size >= _GATHERED:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_batches(waiting)
