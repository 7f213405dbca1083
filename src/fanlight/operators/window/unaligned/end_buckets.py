"""Panes stored by the ends of their windows: one chunk for each bucket of ends.

    ends        |  . ..   |  .   . |     |   .
    buckets     |    7    |    8   |  9  |   10

Sessions that can still grow, and windows that are due, are in buckets from some end on; the others are not read.
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Ints, runs
from fanlight.operators.window.firing.evaluate_triggers import Timers, TriggerEvaluator
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.trigger import NOT_DUE
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import Address, ChunkStore

OWN: dict[str, tuple[str, int]] = {"start": ("int64", 0), "end": ("int64", 0)}
"""The state columns that an unaligned pane has for its window."""
_SPACE = "panes"
USUAL_WIDTH = 60_000_000
"""The width of a bucket if the length of windows is not known: a minute."""


class Buckets:
    """The live panes of a shard. A step holds the panes it has loaded until it saves them."""

    def __init__(self, plan: Plan, store: ChunkStore, evaluator: TriggerEvaluator, width: int) -> None:
        self._plan = plan
        self._store = store
        self._evaluator = evaluator
        self._width = width
        buckets = [address.part for address in store.list(_SPACE)]
        self._timers: dict[int, Timers] = dict.fromkeys(buckets, (NOT_DUE, NOT_DUE))
        self._resting: dict[int, PaneTable] = {}  # loaded in this step, and not in use
        self._dirty: set[int] = set()
        if plan.spec.has_timers and buckets:
            table = evaluator.shape.from_batches(buckets, [store.get(Address(_SPACE, place, 0)) for place in buckets])
            # here the table's windows are still the buckets: one run of panes for each
            self._timers.update(zip(buckets, evaluator.timers(table, runs(table.windows)[:-1]), strict=True))

    def fetch(self, first: int) -> PaneTable:
        """Every pane whose window ends at `first` or later. They are in use until `rest` or `save`."""
        return self._take_up([bucket for bucket in sorted(self._timers) if bucket >= first // self._width])

    def fetch_ends(self, ends: Ints) -> PaneTable:
        """At least the panes whose windows end at one of `ends`."""
        wanted = set(np.unique(ends // self._width).tolist())
        return self._take_up([bucket for bucket in sorted(self._timers) if bucket in wanted])

    def due(self, step: StepTime) -> PaneTable:
        """At least the panes that time or a signal may fire in this step."""
        signalled = self._evaluator.signalled(step)
        return self._take_up(
            [
                bucket
                for bucket, timers in sorted(self._timers.items())
                if signalled
                or bucket * self._width <= step.expired
                or (bucket * self._width <= step.closed and (bucket + 1) * self._width > step.closed_before)
                or self._evaluator.is_due(timers, step)
            ]
        )

    def rest(self, table: PaneTable) -> None:
        """Return panes that are no longer in use to their buckets, unchanged."""
        if not len(table):
            return
        buckets = table.windows // self._width
        order = np.argsort(buckets, kind="stable")
        bounds = runs(buckets[order])
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            rows = order[start:end]
            bucket = int(buckets[rows[0]])
            if bucket not in self._resting and bucket in self._timers:
                self._resting[bucket] = self._fetch(bucket)
            held = [self._resting[bucket]] if bucket in self._resting else []
            self._resting[bucket] = PaneTable.concat([*held, table.take(rows)])

    def change(self, table: PaneTable) -> None:
        """Mark the buckets of these panes as changed, because the panes were changed or replaced."""
        self._dirty |= set(np.unique(table.windows // self._width).tolist())

    def save(self, table: PaneTable) -> None:
        """Write the remaining panes of those in use."""
        self.rest(table)
        self.change(table)
        for bucket in sorted(self._dirty):
            held = self._resting.get(bucket)
            if held is None or not len(held):
                self._timers.pop(bucket, None)
                self._store.delete(Address(_SPACE, bucket, 0))
                continue
            held.state["end"] = held.windows
            self._store.put(Address(_SPACE, bucket, 0), self._evaluator.shape.to_batch(held))
            self._timers[bucket] = self._next(held)
        self._dirty.clear()
        self._resting.clear()

    def everything(self) -> PaneTable:
        """All live panes, for reading."""
        return self._join([self._fetch(bucket) for bucket in sorted(self._timers)])

    def _take_up(self, buckets: list[int]) -> PaneTable:
        accepted = [self._resting.pop(bucket) if bucket in self._resting else self._fetch(bucket) for bucket in buckets]
        for bucket in buckets:
            self._resting[bucket] = self._evaluator.shape.none()
        return self._join(accepted)

    def _fetch(self, bucket: int) -> PaneTable:
        table = self._evaluator.shape.from_batches([bucket], [self._store.get(Address(_SPACE, bucket, 0))])
        table.windows = table.state["end"].copy()
        return table

    def _join(self, tables: list[PaneTable]) -> PaneTable:
        return PaneTable.concat([*tables, self._evaluator.shape.none()])

    def _next(self, table: PaneTable) -> Timers:
        if not (self._plan.spec.has_timers and len(table)):
            return NOT_DUE, NOT_DUE
        return self._evaluator.timers(table, np.zeros(1, np.int64))[0]


def width_for(length: int) -> int:
    """The width of a bucket for windows of about this length: wide enough that a bundle touches few buckets."""
    return max(length, 1_000_000)
