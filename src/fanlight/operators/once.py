"""Panes that fire once, when their window expires: their slices are all the state there is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints, runs
from fanlight.kernels.keys import encode, encode_in_order, encode_loosely
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW, spread
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded, FoldedSlices
from fanlight.operators.log import PartialLog
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.stacks import ServedWindows
from fanlight.operators.taken import Taken
from fanlight.operators.values import pane_values
from fanlight.state.store import ChunkStore

_LARGE = 1 << 14
"""From this many rows a window on, windows are merged one by one."""


class OncePanes:
    """Takes records into slices; a window's panes are merged from its slices when it expires."""

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._log = PartialLog(plan, store)
        self._messages = messages
        self._served = ServedWindows(plan, self._log) if plan.slicing.width > 1 else None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Append the records' partials to their slices. Nothing is read."""
        plan = self._plan
        if taken is not None:
            found = encode(taken.keys(plan), len(taken.slices))
            pairs = Pairs.of(taken.slices, found.codes, found.count)
            partials = plan.fold.partial(taken.values(plan), taken.bundle.times, pairs.groups, taken.counted(plan))
            slices, codes, partials = pairs.settle(partials)
            self._append(slices, found.take(codes), partials)
        if folded is not None:
            assert isinstance(folded, FoldedSlices)
            self._append(folded.slices, folded.keys, folded.partials)
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """The panes of the windows that expired in this step."""
        due = self._windows(moment.expired_before + 1, moment.expired)
        if not len(due):
            return None
        windows, keys, partials = self._panes(due, serving=True)
        starts, ends = self._plan.slicing.bounds(windows)
        times = self._plan.fold.stamps(partials, ends, self._plan.spec.tick.micros)
        values = pane_values(self._plan, self._messages, windows, keys, partials, None)
        return Firings.once(keys, starts, ends, values, times)

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        slices = self._log.slices
        self._log.retire(slices[self._plan.slicing.windows(slices)[1] <= through].tolist())

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step."""
        return self.content(moment.expired_before + 1, moment.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold now."""
        due = self._windows(first, last)
        if not len(due):
            return Content.empty(self._plan)
        windows, keys, partials = self._panes(due, serving=False)
        return Content(
            windows, keys, partials.rows, pane_values(self._plan, self._messages, windows, keys, partials, None)
        )

    def _append(self, slices: Ints, keys: list[pa.Array], partials: Partials) -> None:
        self._log.append(slices, keys, partials)
        if self._served is not None:
            self._served.touch(slices, keys, partials)

    def _windows(self, first: int, last: int) -> Ints:
        """The windows first..last that hold anything."""
        slices = self._log.slices
        low, high = self._plan.slicing.windows(slices)
        _, windows = spread(np.maximum(low, first), np.minimum(high, last))
        return np.unique(windows)

    def _panes(self, windows: Ints, *, serving: bool) -> tuple[Ints, list[pa.Array], Partials]:
        """The panes of these windows in order: window, keys, partials. Only serving may move on."""
        if self._served is not None and serving:
            return self._served.serve(windows)
        if self._plan.slicing.width == 1:
            return self._apart(windows)
        members = [self._plan.slicing.members(int(window)) for window in windows]
        first, last = np.array(members, np.int64).T
        places, slices = spread(first, last)
        owners, keys, partials = self._log.read(np.unique(slices).tolist())
        order = np.argsort(slices, kind="stable")
        low = np.searchsorted(slices[order], owners, "left")
        high = np.searchsorted(slices[order], owners, "right")
        rows, found_at = spread(low, high - 1)
        found = encode_in_order(keys, len(owners))
        pairs = Pairs.of(windows[places[order[found_at]]], found.codes[rows], found.count)
        outer, codes, merged = pairs.settle(self._plan.fold.merge(partials.take(rows), pairs.groups))
        return outer, found.take(codes), merged

    def _apart(self, windows: Ints) -> tuple[Ints, list[pa.Array], Partials]:
        """The panes of windows that share no slice. Where they are large, each is merged by itself: its keys then
        fit the processor's cache, and those of all windows together do not.
        """
        slices = [self._plan.slicing.members(window)[0] for window in windows.tolist()]
        owners, keys, partials = self._log.read(slices)
        bounds = runs(owners)
        if len(owners) < _LARGE * len(windows):
            bounds = bounds[[0, -1]]
        parts = []
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found = encode_loosely([column.slice(start, end - start) for column in keys], end - start, in_order=True)
            pairs = Pairs.of(owners[start:end], found.codes, found.count)
            outer, codes, merged = pairs.settle(self._plan.fold.merge(partials.part(start, end), pairs.groups))
            parts.append((outer, found.take(codes), merged))
        found_in, found_keys, merged_parts = zip(*parts, strict=True)
        joined = [pa.concat_arrays(same) for same in zip(*found_keys, strict=True)]
        return self._window_of(np.concatenate(found_in)), joined, Partials.concat(list(merged_parts))

    def _window_of(self, slices: Ints) -> Ints:
        return self._plan.slicing.windows(slices)[1]
