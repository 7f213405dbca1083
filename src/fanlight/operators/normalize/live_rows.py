"""The live rows of a table, by what tells them apart: a change reads only the buckets that its row may be in."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, order_of, runs
from fanlight.kernels.row_hashes import row_hashes
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.chunk_log import ChunkLog
from fanlight.operators.sort.gather import gather, joined
from fanlight.state.store import ChunkStore

_BUCKETS = 256
_OWN = "v."
"""A prefix of the rows' own columns, so that no name collides with the column of times."""


class LiveRows:
    """Rows with their times, in a log of chunks for each bucket of hashes.

        bucket 0    ▪▪          a bundle of three changes reads at most three of these
        bucket 1    ▪
        …
        bucket 255  ▪▪▪

    Rows that the horizon has passed are forgotten. A bucket that holds such rows is written anew when they are much
    behind, so that not every step writes it.
    """

    def __init__(self, store: ChunkStore, schema: pa.Schema, slack: int) -> None:
        """`slack` is how far behind the horizon rows may be before they are deleted."""
        self._schema = schema
        self._stored = pa.schema(
            [pa.field("time", pa.int64()), *(field.with_name(_OWN + field.name) for field in schema)]
        )
        self._log = ChunkLog(store, "live")
        self._slack = slack
        # The least time of each bucket, as far as it is known: a bucket that was not looked at may hold any.
        self._least: dict[int, Timestamp] = dict.fromkeys(self._log.slices.tolist(), START_OF_TIME)

    def find(self, buckets: Ints, horizon: Timestamp) -> tuple[pa.RecordBatch, Ints, Ints]:
        """The rows of these buckets that are not forgotten, in the order they came, with times and buckets."""
        owners, chunks = self._log.read(np.unique(buckets).tolist())
        batch = self._joined(chunks)
        times = _times_of(batch)
        owners = np.repeat(owners, [len(chunk) for chunk in chunks]) if chunks else owners
        live = np.flatnonzero(times >= horizon)
        return self._rows_of(batch.take(pa.array(live))), times[live], owners[live]

    def insert(self, rows: pa.RecordBatch, times: Ints, buckets: Ints) -> None:
        """Keep rows in their buckets."""
        if not len(rows):
            return
        order = order_of(buckets)
        batch = self._batch(rows, times).take(pa.array(order))
        touched = self._log.append(buckets[order], batch)
        self._learn(touched, buckets, times)
        for bucket in self._log.crowded(touched):
            self._log.replace(bucket, self._joined(self._log.read([bucket])[1]))

    def replace(self, rows: pa.RecordBatch, times: Ints, buckets: Ints, stays: Bools) -> None:
        """Write the buckets anew that lose a row, out of all rows that `find` gave for them."""
        losing = np.unique(buckets[~stays])
        kept = np.flatnonzero(stays & np.isin(buckets, losing))
        self._log.retire(losing.tolist())
        for bucket in losing.tolist():
            self._least.pop(bucket, None)
        self.insert(rows.take(pa.array(kept)), times[kept], buckets[kept])

    def forget(self, horizon: Timestamp) -> None:
        """Delete rows that are much behind the horizon; all, at the end of time."""
        if horizon >= END_OF_TIME:
            self._log.retire(self._log.slices.tolist())
            self._least = {}
            return
        due = [bucket for bucket, least in self._least.items() if least + self._slack < horizon]
        for bucket in due:
            batch = self._joined(self._log.read([bucket])[1])
            times = _times_of(batch)
            live = times >= horizon
            if live.all():
                self._least[bucket] = int(times.min(initial=END_OF_TIME))
                continue
            self._log.retire([bucket])
            del self._least[bucket]
            batch, times = batch.filter(pa.array(live)), times[live]
            self.insert(self._rows_of(batch), times, np.full(len(batch), bucket))

    def _learn(self, touched: list[int], buckets: Ints, times: Ints) -> None:
        """Note the least time of what was inserted."""
        order = order_of(buckets)
        bounds = runs(buckets[order])
        ordered = times[order]
        for bucket, (start, end) in zip(touched, pairwise(bounds.tolist()), strict=True):
            least = int(ordered[start:end].min())
            self._least[bucket] = min(self._least.get(bucket, least), least)

    def _joined(self, chunks: list[pa.RecordBatch]) -> pa.RecordBatch:
        batches = joined(chunks, self._stored)
        return batches[0] if len(batches) == 1 else gather(batches, np.arange(sum(map(len, batches))))

    def _batch(self, rows: pa.RecordBatch, times: Ints) -> pa.RecordBatch:
        return pa.record_batch([pa.array(times), *rows.columns], schema=self._stored)

    def _rows_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(batch.columns[1:], schema=self._schema)


def buckets_of(identity: list[pa.Array], rows: int) -> Ints:
    """The bucket of each row, from the columns that tell rows apart. Equal rows are in one bucket, on every machine."""
    return (row_hashes(identity, rows) % np.uint64(_BUCKETS)).astype(np.int64)


def _times_of(batch: pa.RecordBatch) -> Ints:
    times: Ints = batch.column(0).to_numpy()
    return times
