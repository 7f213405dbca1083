"""From rows to chunks by shard, and from chunks to rows: the two ends of what Spark moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from fanlight.kernels.groups import Ints, order_of, runs
from fanlight.kernels.times import read_times
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp
from fanlight.model.watermarks import BoundedDisorder
from fanlight.model.windows import TimeDomain
from fanlight.operators.accounting import as_first
from fanlight.operators.conforming import conform
from fanlight.operators.folding import Folding, folding_of
from fanlight.operators.plan import Plan, plain
from fanlight.spark.leaving import LETTER, acted_on
from fanlight.spark.shards import places_of
from fanlight.spark.transit import opened, packed_each

SHARD = "_fanlight_shard"
"""The column of a row's shard, by position, where Spark has hashed the keys; taken off before the chunk is made."""
FAR = "_fanlight_far"
"""The column of whether a row's time is too far ahead of its batch's clock, which only Spark knows: a bit a row."""
PASSED = "_fanlight_passed"
"""The column of what an earlier stage let leave besides its firings; where it is set, the row is no record."""


class Sent(StrEnum):
    """What a row of the envelope brings to its shard."""

    RECORDS = "records"
    FOLDED = "folded"
    PASSED = "passed"
    HEARTBEAT = "heartbeat"
    END = "end"


ENVELOPE = "shard int, origin int, sequence int, kind string, payload binary, watermark bigint"
_SCHEMA = pa.schema(
    {
        "shard": pa.int32(),
        "origin": pa.int32(),
        "sequence": pa.int32(),
        "kind": pa.string(),
        "payload": pa.binary(),
        "watermark": pa.int64(),
    }
)

_ROWS = 1 << 20
_GATHERED = 1 << 26
"""What is packed at once, whichever is reached first; so memory is bounded however large the micro-batch."""
_BYTES = 1 << 24
"""No chunk is much larger."""

Batches = Iterator[pa.RecordBatch]
Horizon = Callable[[], Timestamp | None]


def seal(
    spec: WindowSpec, schema: pa.Schema, ids: list[int], horizon: Horizon, *, heartbeat: bool
) -> Callable[[Batches], Batches]:
    """The function that packs rows into chunks by shard; with a heartbeat, tasks tell every shard of the watermark.

    Each task that had rows does, and the first one always. So every shard acts in every batch and on the same
    watermark, that of all records up to and with this batch: Spark lets no shard begin before all tasks have ended.

    Records that no watermark up to `horizon` makes dead letters of are folded first, where the spec allows it.
    """

    def sealed(batches: Batches) -> Batches:
        packer = Packer(Plan.bind(spec, schema), ids, horizon)
        for gathered in _gathered(batches):
            yield packer.pack(gathered)
        if heartbeat and (packer.origin == 0 or packer.has_packed):
            yield packer.tell(Sent.HEARTBEAT)

    return sealed


def telling(ids: list[int], kind: Sent) -> Callable[[Batches], Batches]:
    """The function that says `kind` to every shard, if any row comes."""

    def told(batches: Batches) -> Batches:
        if any(len(batch) for batch in batches):
            yield _letters(ids, [_LAST] * len(ids), 0, kind, pa.nulls(len(ids), pa.binary()), START_OF_TIME)

    return told


def rows_of(kind: str, schema: pa.Schema) -> Callable[[Batches], Batches]:
    """The function that makes rows of what leaves as `kind` again. Spark could choose them, at the cost of a copy."""

    def all_rows(batches: Batches) -> Batches:
        for batch in batches:
            for found, payload in zip(batch.column("kind").to_pylist(), batch.column("payload"), strict=True):
                if found == kind:
                    rows = opened(payload.as_buffer())
                    yield as_first(rows, schema) if kind == LETTER else rows

    return all_rows


_LAST = 2**31 - 1
"""An origin after all others: a shard hears of an end when it has read everything else."""


class Packer:
    """Packs the rows of one task. `origin` and `sequence` number the chunks as they were made, so that a shard reads
    them in the same order whatever the shuffle does.
    """

    def __init__(self, plan: Plan, ids: list[int], horizon: Horizon) -> None:
        self._plan = plan
        self._ids = ids
        self._folding = folding_of(plan)
        self._known = horizon() if self._folding else None
        context = TaskContext.get()
        self.origin = 0 if context is None else context.partitionId()
        self._sequence = 0
        self._watermark: Timestamp = START_OF_TIME

    @property
    def has_packed(self) -> bool:
        """Whether anything was packed."""
        return self._sequence > 0

    def pack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The chunks of a batch: folded ones, and records as they are."""
        if PASSED not in batch.schema.names:
            batch, far = _parted(batch)
            self._follow(batch)
            packed = self._packed(batch)
            return (
                packed if far is None else pa.concat_batches([packed, self._chunks(*self._placed(far), Sent.RECORDS)])
            )
        passed = batch.column(PASSED)
        records = self._packed(batch.filter(passed.is_null()).drop_columns([PASSED]))
        others = passed.drop_null()
        self._reach(acted_on(opened(row.as_buffer()) for row in others))
        return pa.concat_batches([records, self._numbered(self._ids[:1] * len(others), Sent.PASSED, others)])

    def _packed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows, shards = self._placed(batch)
        if self._folding is None or self._known is None or not len(rows):
            return self._chunks(rows, shards, Sent.RECORDS)
        times, slots, doubtful = self._folding.divide(rows, self._known)
        if not self._folding.pays(rows, slots):
            return self._chunks(rows, shards, Sent.RECORDS)
        if doubtful is None:
            return self._folded(self._folding, rows, times, slots, shards)
        sure = ~doubtful
        parts = [
            self._chunks(rows.filter(pa.array(doubtful)), shards[doubtful], Sent.RECORDS),
            self._folded(self._folding, rows.filter(pa.array(sure)), times[sure], slots[sure], shards[sure]),
        ]
        return pa.concat_batches(parts)

    def _placed(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The records of a batch, and their shards by position."""
        if SHARD in batch.schema.names:
            return conform(batch.drop_columns([SHARD]), self._plan.schema), batch.column(SHARD).to_numpy()
        rows = conform(batch, self._plan.schema)
        keys = [rows.column(name) for name in self._plan.spec.keys]
        return rows, places_of(keys, len(rows), len(self._ids))

    def _follow(self, rows: pa.RecordBatch) -> None:
        """Let the watermark follow records: a time that cannot be used moves none."""
        spec, strategy = self._plan.spec, self._plan.spec.watermark
        if spec.window.domain is not TimeDomain.EVENT or not isinstance(strategy, BoundedDisorder) or not len(rows):
            return
        times, faults = read_times(plain(rows.column(spec.time)), spec.unit)
        usable = times[faults == 0] if faults.any() else times
        if len(usable):
            self._reach(int(usable.max()) - strategy.delay.micros)

    def _reach(self, watermark: Timestamp) -> None:
        self._watermark = max(self._watermark, watermark)

    def tell(self, kind: Sent) -> pa.RecordBatch:
        """A word to every shard."""
        return self._numbered(self._ids, kind, pa.nulls(len(self._ids), pa.binary()))

    def _folded(self, folding: Folding, rows: pa.RecordBatch, times: Ints, slots: Ints, shards: Ints) -> pa.RecordBatch:
        chunk, found, codes = folding.fold(rows, times, slots)
        shard_of = np.zeros(found.count, shards.dtype)
        shard_of[found.codes] = shards  # all rows of a key have the same
        return self._chunks(chunk, shard_of[codes], Sent.FOLDED)

    def _chunks(self, rows: pa.RecordBatch, shards: Ints, kind: Sent) -> pa.RecordBatch:
        order = order_of(shards)
        ordered, shards = rows.take(pa.array(order)), shards[order]
        bounds = runs(shards)
        owners: list[int] = []
        parts: list[pa.RecordBatch] = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            pieces = _pieces(ordered.slice(start, end - start))
            owners += [self._ids[shards[start]]] * len(pieces)
            parts += pieces
        return self._numbered(owners, kind, packed_each(parts))

    def _numbered(self, owners: list[int], kind: Sent, payloads: pa.BinaryArray) -> pa.RecordBatch:
        first = self._sequence
        self._sequence += len(owners)
        return _letters(owners, [self.origin] * len(owners), first, kind, payloads, self._watermark)


def _parted(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """The rows without those too far ahead of the clock, and these apart: they go to their shard as they are, move no
    watermark and are not folded. None if there are none.
    """
    if FAR not in batch.schema.names:
        return batch, None
    far, batch = batch.column(FAR).fill_null(False), batch.drop_columns([FAR])
    return (batch.filter(pc.invert(far)), batch.filter(far)) if far.true_count else (batch, None)


def _letters(
    owners: list[int],
    origins: list[int],
    first: int,
    kind: Sent,
    payloads: pa.BinaryArray,
    watermark: Timestamp,
) -> pa.RecordBatch:
    count = len(owners)
    columns = {
        "shard": owners,
        "origin": origins,
        "sequence": range(first, first + count),
        "kind": [kind.value] * count,
        "payload": payloads,
        "watermark": [watermark] * count,
    }
    return pa.record_batch(columns, schema=_SCHEMA)


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


def _pieces(rows: pa.RecordBatch) -> list[pa.RecordBatch]:
    count = max(1, -(-rows.nbytes // _BYTES))
    length = -(-len(rows) // count)
    return [rows.slice(start, length) for start in range(0, len(rows), length)]
