"""The sessions that have not expired, stored by their ends: one chunk for each bucket of ends.

    ends        |  . ..   |  .   . |     |   .
    buckets     |    7    |    8   |  9  |   10

New records can only meet sessions that end at the first new time or later: earlier buckets are not read. Only buckets
that have changed are written.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Ints, runs
from fanlight.model.windows.session import Session
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.runs import SessionRuns, SessionRunsShape
from fanlight.operators.window.unaligned.end_buckets import USUAL_WIDTH, width_for
from fanlight.state.store import Address, ChunkStore

_SPACE = "panes"


class OpenSessions:
    """The live sessions of a shard, as runs. A step reads some of them, and saves those of them that it keeps."""

    def __init__(self, plan: Plan, store: ChunkStore, width: int) -> None:
        self._store = store
        self._width = width
        self._shape = SessionRunsShape(plan)
        self._buckets = {address.part for address in store.list(_SPACE)}
        self._read: set[int] = set()

    def ending_from(self, first: int) -> SessionRuns:
        """At least every session that ends at `first` or later."""
        return self._fetch([bucket for bucket in sorted(self._buckets) if bucket >= first // self._width])

    def ending_by(self, last: int) -> SessionRuns:
        """At least every session that ends at `last` or before and that this step has not read."""
        due = [bucket for bucket in sorted(self._buckets) if bucket * self._width <= last]
        return self._fetch([bucket for bucket in due if bucket not in self._read])

    def save(self, kept: list[SessionRuns], changed: list[Ints]) -> None:
        """Write the `kept` sessions, of those that were read or created, to the buckets of ends that have `changed`."""
        dirty = np.unique(np.concatenate([np.zeros(0, np.int64), *changed]) // self._width)
        rows = SessionRuns.concat([part.where(np.isin(part.ends // self._width, dirty)) for part in kept])
        filled = self._write(rows)
        for bucket in sorted(self._buckets.intersection(dirty.tolist()) - filled):
            self._store.delete(Address(_SPACE, bucket, 0))
        self._buckets = self._buckets.difference(dirty.tolist()) | filled
        self._read.clear()

    def everything(self) -> SessionRuns:
        """All live sessions, for reading."""
        return self._rows(sorted(self._buckets))

    def _fetch(self, buckets: list[int]) -> SessionRuns:
        self._read.update(buckets)
        return self._rows(buckets)

    def _rows(self, buckets: list[int]) -> SessionRuns:
        return self._shape.from_batches([self._store.get(Address(_SPACE, bucket, 0)) for bucket in buckets])

    def _write(self, rows: SessionRuns) -> set[int]:
        """Write one chunk for each bucket that has some of `rows`; returns these buckets."""
        if not len(rows):
            return set()
        buckets = rows.ends // self._width
        order = np.argsort(buckets, kind="stable")
        chunk, bounds = self._shape.to_batch(rows.take(order)), runs(buckets[order])
        named: list[int] = buckets[order][bounds[:-1]].tolist()
        for bucket, start, end in zip(named, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            self._store.put(Address(_SPACE, bucket, 0), chunk.slice(start, end - start))
        return set(named)


def bucket_width(kind: Session) -> int:
    """The width of the buckets of sessions."""
    return USUAL_WIDTH if kind.gap is None else width_for(kind.gap.micros)
