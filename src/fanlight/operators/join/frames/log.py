"""What is kept of a side whose windows are joined: by slice or by key, which are two ways to read the same window.

by slice   chunks as the rows came, or by time; a window is the last of them, and they are scanned
by key     a bucket of chunks for hashes of keys; the buckets of the keys that somebody asks for are read
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints, order_of
from fanlight.kernels.join.probe import matches
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.operators.join.frames.membership import Membership
from fanlight.operators.join.frames.standing import SideStanding
from fanlight.operators.join.side_log import SideLog, SideRows
from fanlight.state.store import ChunkStore

_BUCKETS = 64
"""If more, a bundle of many keys makes more chunks; if fewer, one of few keys reads more rows that nobody asks for."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class FrameLog(ABC):
    """The rows of one side that can be in a window of it."""

    def __init__(self, window: Membership) -> None:
        self._window = window

    @abstractmethod
    def append(self, rows: SideRows, standing: SideStanding) -> None:
        """Keep rows, which are sorted by key and time; the side stands so with them."""

    @abstractmethod
    def holding(self, codes: Ints, standing: SideStanding) -> SideRows:
        """The rows that the window holds now of keys with these codes, which are sorted; by key, then by time."""

    @abstractmethod
    def every(self, standing: SideStanding) -> SideRows:
        """All rows that the window holds now."""

    @abstractmethod
    def retire(self, before: SideStanding, now: SideStanding) -> SideStanding:
        """Delete what is in no window any more; how the side stands then."""

    def _held(self, chunks: list[SideRows], standing: SideStanding, nothing: SideRows) -> SideRows:
        """The rows of these chunks that the window holds, by key and time."""
        rows = SideRows.concat(chunks) if chunks else nothing
        return rows.where(self._window.inside(rows, standing)).by_key()


class ArrivalLog(SideLog):
    """A log of chunks that are known by the last row that came, and not by their times."""

    @staticmethod
    def _place(rows: SideRows) -> int:
        return int(rows.came.max())


class ScannedLog(FrameLog):
    """Rows as they came, or by time: what can be in the window is scanned."""

    def __init__(self, store: ChunkStore, space: str, own: pa.Schema, window: Membership) -> None:
        super().__init__(window)
        self._nothing = _nothing(own)
        self._by_arrival = window.rows is not None
        thinned = window.thinned if self._by_arrival else None
        self._log = ArrivalLog(store, space, own, thinned) if self._by_arrival else SideLog(store, space, own)

    def append(self, rows: SideRows, standing: SideStanding) -> None:
        """Keep rows at the end of the log."""
        self._log.append(rows if self._by_arrival else rows.where(rows.times >= self._window.since(standing)))

    def holding(self, codes: Ints, standing: SideStanding) -> SideRows:
        """Scan the slice, and keep the rows with these codes."""
        chunks = [*self._log.since(self._start(standing))]
        return self._held(_of_codes(chunks, np.unique(codes)), standing, self._nothing)

    def every(self, standing: SideStanding) -> SideRows:
        """Scan the slice."""
        return self._held([*self._log.since(self._start(standing))], standing, self._nothing)

    def retire(self, before: SideStanding, now: SideStanding) -> SideStanding:
        """Delete the chunks that lie before the slice."""
        if now.reached >= END_OF_TIME:
            self._log.retire(END_OF_TIME)
        elif not self._by_arrival:
            self._log.retire(self._start(now))
        else:
            self._log.retire(self._window.first(now))
            if now.reached > before.reached:
                self._log.retire(self._passed(now))
        return now

    def _start(self, standing: SideStanding) -> int:
        """From which chunk on rows can be in the window."""
        return self._window.first(standing) if self._by_arrival else self._window.since(standing)

    def _passed(self, standing: SideStanding) -> int:
        """The number after the last row of the first chunks, where all rows of these are too old.

        Only the first ones can go: rows count others that came after them.
        """
        since, last = self._window.since(standing), 0
        for chunk in self._log.since(0):
            if len(chunk) and int(chunk.times.max()) >= since:
                break
            last = max(last, int(chunk.came.max()) + 1)
        return last


class KeyedLog(FrameLog):
    """Rows by key, in buckets: those of the keys that somebody asks for are looked up."""

    def __init__(self, store: ChunkStore, space: str, own: pa.Schema, window: Membership) -> None:
        super().__init__(window)
        self._nothing = _nothing(own)
        self._log = BucketLog(store, space, own)

    def append(self, rows: SideRows, standing: SideStanding) -> None:
        """Keep rows in the buckets of their keys; crowded ones are written anew."""
        if self._window.rows is None:
            rows = rows.where(rows.times >= self._window.since(standing))
        for bucket in self._log.spread(rows, buckets_of(rows.codes)):
            self._settle(bucket, standing)

    def holding(self, codes: Ints, standing: SideStanding) -> SideRows:
        """Read the buckets of these codes, and find their rows there."""
        distinct = np.unique(codes)
        chunks = self._log.read(np.unique(buckets_of(distinct)).tolist())
        return self._held(_of_codes(chunks, distinct), standing, self._nothing)

    def every(self, standing: SideStanding) -> SideRows:
        """Read all buckets."""
        return self._held(self._log.read(self._log.buckets), standing, self._nothing)

    def retire(self, before: SideStanding, now: SideStanding) -> SideStanding:
        """Delete lazily: all buckets are looked at when half of what a window reaches over has passed."""
        del before
        if now.reached >= END_OF_TIME:
            self._log.forget()
            return now
        if not self._window.is_due(now):
            return now
        for bucket in self._log.buckets:
            self._settle(bucket, now)
        return now.cleared()

    def _settle(self, bucket: int, standing: SideStanding) -> None:
        """Leave in a bucket what the windows of its keys hold; no row comes back when another one goes."""
        rows = SideRows.concat(self._log.read([bucket]))
        self._log.put(bucket, rows.where(self._window.inside(rows, standing)))


class BucketLog(SideLog):
    """A log of chunks for each bucket of keys."""

    @property
    def buckets(self) -> list[int]:
        """The buckets that hold anything."""
        return list(self._log.slices.tolist())

    def read(self, buckets: list[int]) -> list[SideRows]:
        """The chunks of these buckets."""
        return [*map(self._rows, self._log.read(buckets)[1])]

    def spread(self, rows: SideRows, buckets: Ints) -> list[int]:
        """Append rows, sorted by key and time, to their buckets; the buckets that have too many chunks then."""
        if not len(rows):
            return []
        order = order_of(buckets)
        touched = self._log.append(buckets[order], self._chunk(rows.take(order)))
        return self._log.crowded(touched)

    def put(self, bucket: int, rows: SideRows) -> None:
        """Put rows in the place of all that a bucket holds."""
        if not len(rows):
            self._log.retire([bucket])
            return
        in_order = rows.take(np.lexsort([rows.came, rows.times, rows.codes]))
        self._log.replace(bucket, self._chunk(in_order))

    def forget(self) -> None:
        """Delete everything."""
        self._log.retire(self.buckets)


def buckets_of(codes: Ints) -> Ints:
    """The bucket of each code: the same on every machine.

    >>> sorted(set(buckets_of(np.arange(1000)).tolist())) == [*range(64)]
    True
    """
    with np.errstate(over="ignore"):
        mixed = codes.view(np.uint64) * _MIX
    return (mixed >> np.uint64(58)).astype(np.int64)


def _of_codes(chunks: list[SideRows], distinct: Ints) -> list[SideRows]:
    """The rows of these chunks whose codes are among these, which are sorted.

    Few codes are searched for in every chunk; of many, every row is looked at once.
    """
    if not len(distinct):
        return []
    if len(distinct) * len(chunks) > sum(map(len, chunks)):
        rows = SideRows.concat(chunks)
        places = np.minimum(np.searchsorted(distinct, rows.codes), len(distinct) - 1)
        return [rows.where(distinct[places] == rows.codes)]
    low, high = np.full(len(distinct), EARLIEST), np.full(len(distinct), LATEST)
    found = []
    for chunk in chunks:
        _, places = matches(chunk.codes, chunk.times, distinct, low, high)
        found += [chunk.take(places)] if len(places) else []
    return found


def _nothing(own: pa.Schema) -> SideRows:
    empty = np.zeros(0, np.int64)
    return SideRows(empty, empty, empty, [pa.array([], field.type) for field in own])
