"""Panes that fire once, when their window expires: their slices are all the state there is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.apart import Sliced, merge_apart, partial_apart
from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import encode_in_order, encode_loosely
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


class OncePanes:
    """Takes records into slices; a window's panes are merged from its slices when it expires.

    Of windows that share no slice, what one step brings and expires is held until the step retires it: it is folded
    by slice and key already, so where no earlier step has brought anything it is what leaves.
    """

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._log = PartialLog(plan, store)
        self._messages = messages
        self._served = ServedWindows(plan, self._log) if plan.slicing.width > 1 else None
        self._held: Sliced | None = None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Append the records' partials to their slices. Nothing is read."""
        plan = self._plan
        if taken is not None:
            holds = self._served is None and self._window_of(taken.slices.min(keepdims=True))[0] <= moment.expired
            found = encode_loosely(taken.keys(plan), len(taken.slices), in_order=bool(holds))
            values, times = taken.values(plan), taken.bundle.times
            rows = partial_apart(plan.fold, values, times, taken.slices, found, taken.counted(plan))
            self._append(self._hold(rows, moment) if holds else rows)
        if folded is not None:
            assert isinstance(folded, FoldedSlices)
            self._append(Sliced(folded.slices, folded.keys, folded.partials))
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
        self._log.retire(slices[self._window_of(slices) <= through].tolist())
        self._held = None

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

    def _append(self, rows: Sliced) -> None:
        self._log.append(rows.slices, rows.keys, rows.partials)
        if self._served is not None:
            self._served.touch(rows.slices, rows.keys, rows.partials)

    def _hold(self, rows: Sliced, moment: Moment) -> Sliced:
        """Hold what expires in this step; the rest."""
        slices = rows.distinct
        due = slices[self._window_of(slices) <= moment.expired]
        self._held = rows.between(slices[0], due[-1])
        return rows.part(len(self._held), len(rows))

    def _windows(self, first: int, last: int) -> Ints:
        """The windows first..last that hold anything."""
        slices = self._log.slices
        if self._held is not None:
            slices = np.union1d(slices, self._held.distinct)
        low, high = self._plan.slicing.windows(slices)
        _, windows = spread(np.maximum(low, first), np.minimum(high, last))
        return np.unique(windows)

    def _panes(self, windows: Ints, *, serving: bool) -> tuple[Ints, list[pa.Array], Partials]:
        """The panes of these windows in order: window, keys, partials. Only serving may move on."""
        if self._served is not None and serving:
            return self._served.serve(windows)
        if self._served is None:
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
        """The panes of windows that share no slice."""
        slices = [self._plan.slicing.members(window)[0] for window in windows.tolist()]
        rows = Sliced(*self._log.read(slices))
        held = rows.part(0, 0) if self._held is None else self._held.between(slices[0], slices[-1])
        mixed = held.between(slices[0], rows.slices[-1]) if len(rows) else held.part(0, 0)
        if len(mixed):
            rows = Sliced.concat([rows, mixed])
            rows = rows.take(np.argsort(rows.slices, kind="stable"))
        alone = held.part(len(mixed), len(held))
        panes = Sliced.concat([merge_apart(self._plan.fold, rows), alone])
        return self._window_of(panes.slices), panes.keys, panes.partials

    def _window_of(self, slices: Ints) -> Ints:
        """The last window of each slice."""
        return self._plan.slicing.windows(slices)[1]
