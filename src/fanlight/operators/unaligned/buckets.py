"""Panes kept by where their windows end: one chunk for each bucket of ends.

    ends        |  . ..   |  .   . |     |   .
    buckets     |    7    |    8   |  9  |   10

Sessions that can still grow, and windows that are due, lie in the buckets from some end on; the others are not read.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.groups import Ints, runs
from fanlight.operators.examiner import Examiner, Timers
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.plan import Plan
from fanlight.operators.trigger import NOT_DUE
from fanlight.state.store import Address, ChunkStore

OWN: dict[str, tuple[str, int]] = {"start": ("int64", 0), "end": ("int64", 0)}
"""What an unaligned pane keeps of its window."""
_SPACE = "panes"


class Buckets:
    """The live panes of a shard. What a step loads it holds until it saves."""

    def __init__(self, plan: Plan, store: ChunkStore, examiner: Examiner, width: int) -> None:
        self._plan = plan
        self._store = store
        self._examiner = examiner
        self._width = width
        buckets = [address.slice for address in store.list(_SPACE)]
        self._timers: dict[int, Timers] = dict.fromkeys(buckets, (NOT_DUE, NOT_DUE))
        self._resting: dict[int, Frame] = {}  # loaded in this step, and not at work
        self._dirty: set[int] = set()
        if plan.spec.has_timers and buckets:
            frame = examiner.shape.from_batches(buckets, [store.get(Address(_SPACE, place, 0)) for place in buckets])
            # the frame's windows are the buckets still: one run of panes for each
            self._timers.update(zip(buckets, examiner.timers(frame, runs(frame.windows)[:-1]), strict=True))

    def fetch(self, first: int) -> Frame:
        """Every pane whose window ends at `first` or later. They are at work until they are put to rest or saved."""
        return self._take_up([bucket for bucket in sorted(self._timers) if bucket >= first // self._width])

    def fetch_ends(self, ends: Ints) -> Frame:
        """The panes, among others, whose windows end at one of `ends`."""
        wanted = set(np.unique(ends // self._width).tolist())
        return self._take_up([bucket for bucket in sorted(self._timers) if bucket in wanted])

    def due(self, moment: Moment) -> Frame:
        """The panes, among others, that time or a signal moves in this step."""
        signalled = self._examiner.signalled(moment)
        return self._take_up(
            [
                bucket
                for bucket, timers in sorted(self._timers.items())
                if signalled
                or bucket * self._width <= moment.expired
                or (bucket * self._width <= moment.closed and (bucket + 1) * self._width > moment.closed_before)
                or self._examiner.is_due(timers, moment)
            ]
        )

    def rest(self, frame: Frame) -> None:
        """Put panes to rest: as they are, they belong to their buckets."""
        if not len(frame):
            return
        buckets = frame.windows // self._width
        order = np.argsort(buckets, kind="stable")
        bounds = runs(buckets[order])
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[start:end]
            bucket = int(buckets[rows[0]])
            if bucket not in self._resting and bucket in self._timers:
                self._resting[bucket] = self._fetch(bucket)
            part = frame.take(rows)
            held = self._resting.get(bucket)
            self._resting[bucket] = part if held is None or not len(held) else self._join([held, part])

    def change(self, frame: Frame) -> None:
        """Say that these panes, as they were, are no more: their buckets will be written anew."""
        self._dirty |= set(np.unique(frame.windows // self._width).tolist())

    def save(self, frame: Frame) -> None:
        """Write the panes that remain of those at work."""
        self.rest(frame)
        self.change(frame)
        for bucket in sorted(self._dirty):
            held = self._resting.get(bucket)
            if held is None or not len(held):
                self._timers.pop(bucket, None)
                self._store.delete(Address(_SPACE, bucket, 0))
                continue
            held.state["end"] = held.windows
            self._store.put(Address(_SPACE, bucket, 0), self._examiner.shape.to_batch(held))
            self._timers[bucket] = self._next(held)
        self._dirty.clear()
        self._resting.clear()

    def everything(self) -> Frame:
        """All live panes, for reading."""
        return self._join([self._fetch(bucket) for bucket in sorted(self._timers)])

    def _take_up(self, buckets: list[int]) -> Frame:
        taken = [self._resting.pop(bucket) if bucket in self._resting else self._fetch(bucket) for bucket in buckets]
        for bucket in buckets:
            self._resting[bucket] = self._examiner.shape.none()
        return self._join(taken)

    def _fetch(self, bucket: int) -> Frame:
        frame = self._examiner.shape.from_batches([bucket], [self._store.get(Address(_SPACE, bucket, 0))])
        frame.windows = frame.state["end"].copy()
        return frame

    def _join(self, frames: list[Frame]) -> Frame:
        return self._examiner.shape.join(frames) if frames else self._examiner.shape.none()

    def _next(self, frame: Frame) -> Timers:
        if not (self._plan.spec.has_timers and len(frame)):
            return NOT_DUE, NOT_DUE
        return self._examiner.timers(frame, np.zeros(1, np.int64))[0]


def width_for(length: int) -> int:
    """How wide a bucket is, where windows are about so long: wide enough that a bundle meets few of them."""
    return max(length, 1_000_000)
