"""From rows to chunks by shard, and from chunks to rows: the two ends of what Spark moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from fanlight.kernels.groups import Ints, runs
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import Timestamp
from fanlight.operators.folding import Folding, folding_of
from fanlight.operators.intake import conform
from fanlight.operators.plan import Plan
from fanlight.spark.transit import opened, packed

SHARD = "_fanlight_shard"
"""The column that says a row's shard, by position; taken off before the chunk is made."""
PASSED = "_fanlight_passed"
"""The column of what an earlier stage let leave besides its firings; where it is set, the row is no record."""


class Sent(StrEnum):
    """What a row of the envelope brings to its shard."""

    RECORDS = "records"
    FOLDED = "folded"
    PASSED = "passed"
    HEARTBEAT = "heartbeat"
    END = "end"


ENVELOPE = "shard int, origin int, sequence int, kind string, payload binary"
_SCHEMA = pa.schema(
    {
        "shard": pa.int32(),
        "origin": pa.int32(),
        "sequence": pa.int32(),
        "kind": pa.string(),
        "payload": pa.binary(),
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
    """The function that packs rows into chunks by shard; with a heartbeat the first task says a word to every shard.

    A shard judges records by the watermark it acted on last, so every shard must act in every batch.

    Records that no watermark up to `horizon` makes dead letters of are folded first, where the spec allows it.
    """

    def sealed(batches: Batches) -> Batches:
        packer = Packer(Plan.bind(spec, schema), ids, horizon)
        for gathered in _gathered(batches):
            yield packer.pack(gathered)
        if heartbeat and packer.origin == 0:
            yield packer.tell(Sent.HEARTBEAT)

    return sealed


def telling(ids: list[int], kind: Sent) -> Callable[[Batches], Batches]:
    """The function that says `kind` to every shard, if any row comes."""

    def told(batches: Batches) -> Batches:
        if any(len(batch) for batch in batches):
            yield _letters(ids, [_LAST] * len(ids), 0, kind, [None] * len(ids))

    return told


def rows_of(batches: Batches) -> Batches:
    """Chunks back to rows."""
    for batch in batches:
        for payload in batch.column("payload"):
            yield opened(payload.as_py())


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

    def pack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The chunks of a batch: folded ones, and records as they are."""
        if PASSED not in batch.schema.names:
            return self._packed(batch)
        passed = batch.column(PASSED)
        records = self._packed(batch.filter(passed.is_null()).drop_columns([PASSED]))
        others: list[bytes] = passed.drop_null().to_pylist()
        return pa.concat_batches([records, self._numbered(self._ids[:1] * len(others), Sent.PASSED, others)])

    def _packed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        shards = batch.column(SHARD).to_numpy().astype(np.int64)
        rows = conform(batch.drop_columns([SHARD]), self._plan.schema)
        if self._folding is None or self._known is None:
            return self._chunks(rows, shards, Sent.RECORDS)
        times, slots, doubtful = self._folding.divide(rows, self._known)
        if doubtful is None:
            return self._folded(self._folding, rows, times, slots, shards)
        sure = ~doubtful
        parts = [
            self._chunks(rows.filter(pa.array(doubtful)), shards[doubtful], Sent.RECORDS),
            self._folded(self._folding, rows.filter(pa.array(sure)), times[sure], slots[sure], shards[sure]),
        ]
        return pa.concat_batches(parts)

    def tell(self, kind: Sent) -> pa.RecordBatch:
        """A word to every shard."""
        return self._numbered(self._ids, kind, [None] * len(self._ids))

    def _folded(self, folding: Folding, rows: pa.RecordBatch, times: Ints, slots: Ints, shards: Ints) -> pa.RecordBatch:
        chunk, found, codes = folding.fold(rows, times, slots)
        shard_of = np.zeros(found.count, np.int64)
        shard_of[found.codes] = shards  # all rows of a key have the same
        return self._chunks(chunk, shard_of[codes], Sent.FOLDED)

    def _chunks(self, rows: pa.RecordBatch, shards: Ints, kind: Sent) -> pa.RecordBatch:
        order = np.argsort(shards, kind="stable")
        ordered, shards = rows.take(pa.array(order)), shards[order]
        bounds = runs(shards)
        owners: list[int] = []
        parts: list[pa.RecordBatch] = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            pieces = _pieces(ordered.slice(start, end - start))
            owners += [self._ids[shards[start]]] * len(pieces)
            parts += pieces
        return self._numbered(owners, kind, [packed(part) for part in parts])

    def _numbered(self, owners: list[int], kind: Sent, payloads: list[bytes] | list[None]) -> pa.RecordBatch:
        first = self._sequence
        self._sequence += len(owners)
        return _letters(owners, [self.origin] * len(owners), first, kind, payloads)


def _letters(
    owners: list[int], origins: list[int], first: int, kind: Sent, payloads: list[bytes] | list[None]
) -> pa.RecordBatch:
    columns = [owners, origins, list(range(first, first + len(owners))), [kind.value] * len(owners), payloads]
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)


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
