"""From rows to chunks by shard, and from chunks to rows: the two ends of what Spark moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from fanlight.kernels.groups import runs
from fanlight.state.codec import decode, encode

SHARD = "_fanlight_shard"
"""The column that says a row's shard, by position; taken off before the chunk is made."""

ENVELOPE = "shard int, origin int, sequence int, payload binary"
_SCHEMA = pa.schema({"shard": pa.int32(), "origin": pa.int32(), "sequence": pa.int32(), "payload": pa.binary()})

_ROWS = 1 << 18
_BYTES = 1 << 24
"""A chunk is handed on when either is reached, however large the micro-batch."""

Batches = Iterator[pa.RecordBatch]


def seal(ids: list[int], *, heartbeat: bool) -> Callable[[Batches], Batches]:
    """The function that packs rows into chunks, one a shard; with a heartbeat every shard hears of every batch.

    `origin` and `sequence` number the chunks, so that a shard reads them in the same order whatever the shuffle does.
    """

    def sealed(batches: Batches) -> Batches:
        context = TaskContext.get()
        origin = 0 if context is None else context.partitionId()
        sequence = 0
        for gathered in _gathered(batches):
            yield _packed(gathered, ids, origin, sequence)
            sequence += 1
        if heartbeat:
            count = len(ids)
            numbers = [pa.array(column, pa.int32()) for column in (ids, [origin] * count, [sequence] * count)]
            yield pa.record_batch([*numbers, pa.nulls(count, pa.binary())], schema=_SCHEMA)

    return sealed


def opened(batches: Batches) -> Batches:
    """Chunks back to rows."""
    for batch in batches:
        for payload in batch.column("payload"):
            yield decode(payload.as_py())


def _gathered(batches: Batches) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(part) for part in waiting) >= _ROWS or sum(part.nbytes for part in waiting) >= _BYTES:
            yield _joined(waiting)
            waiting = []
    if any(len(part) for part in waiting):
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _packed(batch: pa.RecordBatch, ids: list[int], origin: int, sequence: int) -> pa.RecordBatch:
    shards = batch.column(SHARD).to_numpy().astype(np.int64)
    rows = batch.drop_columns([SHARD])
    order = np.argsort(shards, kind="stable")
    ordered, bounds = rows.take(pa.array(order)), runs(shards[order])
    parts = [
        ordered.slice(start, end - start) for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
    owners = [ids[shard] for shard in shards[order][bounds[:-1]].tolist()]
    count = len(parts)
    numbers = [pa.array(column, pa.int32()) for column in (owners, [origin] * count, [sequence] * count)]
    return pa.record_batch([*numbers, pa.array([encode(part) for part in parts], pa.binary())], schema=_SCHEMA)
