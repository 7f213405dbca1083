"""Sessions that have not expired, kept by where they end: one chunk for each bucket of ends.

    ends        |  . ..   |  .   . |     |   .
    buckets     |    7    |    8   |  9  |   10

Those that what comes can meet end in the buckets from its first time on; the others are not read. Only buckets in
which something has changed are written.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.groups import Ints, runs
from fanlight.operators.folded import Stretches
from fanlight.operators.plan import Plan
from fanlight.operators.unaligned.stretching import StretchShape
from fanlight.state.store import Address, ChunkStore

_SPACE = "panes"


class OpenSessions:
    """The live sessions of a shard as stretches. A step reads some, and saves what it kept of all that it read."""

    def __init__(self, plan: Plan, store: ChunkStore, width: int) -> None:
        self._store = store
        self._width = width
        self._shape = StretchShape(plan)
        self._buckets = {address.slice for address in store.list(_SPACE)}
        self._read: set[int] = set()

    def ending_from(self, first: int) -> Stretches:
        """Every session, among others, that ends at `first` or later."""
        return self._fetch([bucket for bucket in sorted(self._buckets) if bucket >= first // self._width])

    def ending_by(self, last: int) -> Stretches:
        """Every session, among others, that ends at `last` or before and that this step has not read."""
        due = [bucket for bucket in sorted(self._buckets) if bucket * self._width <= last]
        return self._fetch([bucket for bucket in due if bucket not in self._read])

    def save(self, kept: list[Stretches], changed: list[Ints]) -> None:
        """Write what is `kept` of the sessions that were read or made, to the buckets of ends that have `changed`."""
        dirty = np.unique(np.concatenate([np.zeros(0, np.int64), *changed]) // self._width)
        rows = Stretches.concat([part.where(np.isin(part.ends // self._width, dirty)) for part in kept])
        filled = self._write(rows)
        for bucket in sorted(self._buckets.intersection(dirty.tolist()) - filled):
            self._store.delete(Address(_SPACE, bucket, 0))
        self._buckets = self._buckets.difference(dirty.tolist()) | filled
        self._read.clear()

    def everything(self) -> Stretches:
        """All live sessions, for reading."""
        return self._rows(sorted(self._buckets))

    def _fetch(self, buckets: list[int]) -> Stretches:
        self._read.update(buckets)
        return self._rows(buckets)

    def _rows(self, buckets: list[int]) -> Stretches:
        return self._shape.from_batches([self._store.get(Address(_SPACE, bucket, 0)) for bucket in buckets])

    def _write(self, rows: Stretches) -> set[int]:
        """Put one chunk into each bucket that holds any of `rows`; which buckets these are."""
        if not len(rows):
            return set()
        buckets = rows.ends // self._width
        order = np.argsort(buckets, kind="stable")
        chunk, bounds = self._shape.to_batch(rows.take(order)), runs(buckets[order])
        named: list[int] = buckets[order][bounds[:-1]].tolist()
        for bucket, start, end in zip(named, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._store.put(Address(_SPACE, bucket, 0), chunk.slice(start, end - start))
        return set(named)
