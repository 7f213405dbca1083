"""Panes that fire once, when their window expires: the slices are all the state there is."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.apart import Sliced, merge_apart
from fanlight.kernels.groups import Ints
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.kernels.window_merge import Panes
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded, FoldedSlices
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken
from fanlight.operators.values import pane_values
from fanlight.operators.window_slices import WindowSlices, sliced
from fanlight.state.store import ChunkStore


class OncePanes:
    """Takes records into slices; a window's panes are merged from its slices when it expires.

    Of windows that share no slice, what one step brings and expires is held until the step retires it: it is folded
    by slice and key already, so where no earlier step has brought anything it is what leaves.
    """

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._slices = WindowSlices(plan, store)
        self._messages = messages
        self._held: Sliced | None = None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Append the records' partials to their slices. Nothing is read."""
        if taken is not None:
            holds = not self._slices.overlap and self._expires_now(taken, moment)
            rows = sliced(self._plan, taken, in_order=holds)
            self._slices.append(self._hold(rows, moment) if holds else rows)
        if folded is not None:
            assert isinstance(folded, FoldedSlices)
            self._slices.append(Sliced(folded.slices, folded.keys, folded.partials))
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """The panes of the windows that expired in this step."""
        due = self._windows(moment.expired_before + 1, moment.expired)
        if not len(due):
            return None
        windows, keys, partials = self._slices.serve(due) if self._slices.overlap else self._merged(due)
        starts, ends = self._plan.slicing.bounds(windows)
        times = self._plan.fold.stamps(partials, ends, self._plan.spec.tick.micros)
        values = pane_values(self._plan, self._messages, windows, keys, partials, None)
        return Firings.once(keys, starts, ends, values, times)

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        self._slices.retire(through)
        self._held = None

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step."""
        return self.content(moment.expired_before + 1, moment.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold now."""
        due = self._windows(first, last)
        if not len(due):
            return Content.empty(self._plan)
        windows, keys, partials = self._merged(due)
        values = pane_values(self._plan, self._messages, windows, keys, partials, None)
        return Content(windows, keys, partials.rows, values.columns)

    def _expires_now(self, taken: Taken, moment: Moment) -> bool:
        """Whether a window of these records expires in the step that brings them."""
        if moment.expired == moment.expired_before:
            return False
        return bool(self._slices.window_of(taken.slices.min(keepdims=True))[0] <= moment.expired)

    def _hold(self, rows: Sliced, moment: Moment) -> Sliced:
        """Hold what expires in this step; the rest."""
        slices = rows.distinct
        due = slices[self._slices.window_of(slices) <= moment.expired]
        self._held = rows.between(slices[0], due[-1])
        return rows.part(len(self._held), len(rows))

    def _windows(self, first: int, last: int) -> Ints:
        """The windows first..last that hold anything."""
        return self._slices.holding(first, last, None if self._held is None else self._held.distinct)

    def _merged(self, windows: Ints) -> Panes:
        """The panes of these windows in order, what is held among them."""
        if self._held is None:
            return self._slices.merged(windows)
        slices = [self._plan.slicing.members(window)[0] for window in (int(windows[0]), int(windows[-1]))]
        rows, held = self._slices.rows(windows), self._held.between(*slices)
        mixed = held.between(slices[0], rows.slices[-1]) if len(rows) else held.part(0, 0)
        if len(mixed):
            rows = Sliced.concat([rows, mixed])
            rows = rows.take(np.argsort(rows.slices, kind="stable"))
        alone = held.part(len(mixed), len(held))
        panes = Sliced.concat([merge_apart(self._plan.fold, rows), alone])
        return self._slices.window_of(panes.slices), panes.keys, panes.partials
