"""The slices of a shard's windows: partials appended as records come, windows merged when they are asked for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.apart import Sliced, merge_apart, partial_apart
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import encode_loosely, encode_together
from fanlight.kernels.slicing import covered
from fanlight.kernels.window_merge import Panes, in_any, is_sparse, merge_windows
from fanlight.operators.log import PartialLog
from fanlight.operators.plan import Plan
from fanlight.operators.stacks import ServedWindows
from fanlight.operators.taken import Taken
from fanlight.state.store import ChunkStore

_MANY = 256
"""When more windows than this are asked for at once, it is worth a look whether they hold little."""


class WindowSlices:
    """What a shard's aligned windows hold, kept once however many of them overlap."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._log = PartialLog(plan, store)
        self._served = ServedWindows(plan, self._log) if plan.slicing.width > 1 else None

    @property
    def overlap(self) -> bool:
        """Whether windows share slices."""
        return self._served is not None

    def append(self, rows: Sliced) -> None:
        """Add partials to their slices. Nothing is read."""
        self._log.append(rows.slices, rows.keys, rows.partials)
        if self._served is not None:
            self._served.touch(rows.slices, rows.keys, rows.partials)

    def holding(self, first: int, last: int, also: Ints | None = None) -> Ints:
        """Which of the windows first..last hold anything, ascending; `also` are slices that are not kept here."""
        if last < first:
            return np.zeros(0, np.int64)
        slices = self._log.slices if also is None else np.union1d(self._log.slices, also)
        low, high = self._plan.slicing.windows(slices)
        return covered(np.maximum(low, first), np.minimum(high, last))

    def serve(self, windows: Ints) -> Panes:
        """The panes of windows that overlap; called once for each window, in ascending order."""
        assert self._served is not None
        if len(windows) > _MANY:
            rows = self.rows(windows)
            if is_sparse(self._plan.slicing, windows, rows.slices):
                return merge_windows(self._plan.slicing, self._plan.fold, windows, rows)
        return self._served.serve(windows)

    def merged(self, windows: Ints) -> Panes:
        """The panes of these windows, whichever and whenever."""
        rows = self.rows(windows)
        if self._served is not None:
            return merge_windows(self._plan.slicing, self._plan.fold, windows, rows)
        panes = merge_apart(self._plan.fold, rows)
        return self.window_of(panes.slices), panes.keys, panes.partials

    def rows(self, windows: Ints) -> Sliced:
        """The rows of the slices of these windows as they lie in the log."""
        slices = self._log.slices
        wanted = slices[in_any(self._plan.slicing, windows, slices)]
        return Sliced(*self._log.read(wanted.tolist()))

    def rows_of_keys(self, windows: Ints, keys: list[pa.Array], count: int) -> Sliced:
        """Those of the rows of these windows that have one of `count` keys."""
        rows = self.rows(windows)
        if not keys:
            return rows
        found, wanted, codes = encode_together(keys, count, rows.keys, len(rows))
        is_wanted = np.zeros(found.count, np.bool_)
        is_wanted[wanted] = True
        return rows.take(np.flatnonzero(is_wanted[codes]))

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        slices = self._log.slices
        if len(slices) and self.window_of(slices[:1])[0] <= through:  # later slices have no earlier windows
            self._log.retire(slices[self.window_of(slices) <= through].tolist())

    def window_of(self, slices: Ints) -> Ints:
        """The last window of each slice."""
        return self._plan.slicing.windows(slices)[1]


def sliced(plan: Plan, taken: Taken, *, in_order: bool = False) -> Sliced:
    """Records to partials by slice and key; with `in_order` the keys of a slice ascend."""
    found = encode_loosely(taken.keys(plan), len(taken.slices), in_order=in_order)
    values, times = taken.values(plan), taken.bundle.times
    return partial_apart(plan.fold, values, times, taken.slices, found, taken.counted(plan))
