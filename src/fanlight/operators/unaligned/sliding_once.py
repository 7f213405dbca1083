"""Sliding windows that fire once: their records are all the state there is."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.anchors import Anchors
from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import KeyCodes
from fanlight.kernels.ranges import ranges
from fanlight.kernels.ranges_order import parts_of_keys, sort_by_key_time
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.model.letters import Reason
from fanlight.model.sliding import Sliding
from fanlight.model.timestamp import EARLIEST, LATEST
from fanlight.operators.accounting import Accounting, DeadLetters
from fanlight.operators.firing import Firings
from fanlight.operators.folded import Folded
from fanlight.operators.lateness import Lateness
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken, buried, buried_each
from fanlight.operators.unaligned.atoms import AtomLog, Atoms, SortedAtoms
from fanlight.operators.unaligned.buckets import width_for
from fanlight.operators.unaligned.sliding_late import too_late
from fanlight.operators.values import PaneValues, folded_values
from fanlight.state.store import ChunkStore

_LAST = LATEST + 1


class SlidingOnce:
    """Takes records in; when windows expire, sorts what they can hold and merges each window's range."""

    def __init__(
        self,
        plan: Plan,
        kind: Sliding,
        store: ChunkStore,
        lateness: Lateness,
        letters: DeadLetters,
        accounting: Accounting,
    ) -> None:
        self._plan = plan
        self._anchors = Anchors.of(kind, plan.spec.tick.micros, plan.spec.semantics)
        self._log = AtomLog(plan, store, width_for(kind.difference.micros))
        self._lateness = lateness
        self._letters = letters
        self._accounting = accounting

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Keep the records that a window can still need."""
        assert taken is not None
        books = (self._letters, self._accounting)
        taken = buried(taken, self._anchors.homeless(taken.bundle.times), Reason.NO_WINDOW, *books)
        dead = too_late(self._plan, self._anchors, self._lateness, self._log, taken)
        taken = buried_each(taken, dead, Reason.EXPIRED, *books)
        self._accounting.missed_windows += self._anchors.past_own(taken.bundle.times, moment.expired_before)
        self._log.append(Atoms.of(self._plan, taken))
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """The windows that expired in this step."""
        found, codes, ends, counted, values = self._windows(moment.expired_before, moment.expired)
        if not len(ends):
            return None
        # Codes follow the keys, and one end has one start.
        order, ends, codes = sort_by_key_time(ends, codes)
        values = values.take(order)
        stamped = counted[0] if counted[0].stamp is None else Partials.concat(counted).take(order)
        times = self._plan.fold.stamps(stamped, ends, self._plan.spec.tick.micros)
        return Firings.once(found.take(codes), ends - self._anchors.length, ends, values, times)

    def retire(self, through: int) -> None:
        """Forget the records of which every window has expired, those too that they only define."""
        self._log.retire(_LAST if through == EVERY_WINDOW else through - self._anchors.reach)

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step."""
        return self.content(moment.expired_before + 1, moment.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the windows hold now that end from `first` to `last`."""
        found, codes, ends, counted, values = self._windows(first - 1, last)
        order, ends, codes = sort_by_key_time(ends, codes)
        rows = Partials.concat(counted).rows[order]
        return Content(ends, found.take(codes), rows, values.take(order).columns, ends - self._anchors.length)

    def _windows(self, first: int, last: int) -> tuple[KeyCodes, Ints, Ints, list[Partials], PaneValues]:
        """The windows with `first < end <= last`, by key and end: keys, their codes, ends, rows and stamps, values.

        Some keys at a time, so that what a window is made of stays near until its value is known. Rows and stamps are
        left in these parts, because hardly ever both are asked for.
        """
        low = max(first, EARLIEST - self._anchors.reach) - self._anchors.reach
        atoms, inside = self._log.around(low, _LAST if last == EVERY_WINDOW else min(last, _LAST))
        rows = SortedAtoms.of(atoms, inside)
        fold, partials = self._plan.fold, atoms.partials
        nothing = fold.identity(0)
        codes, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        counted, finished = [Partials(nothing.rows, nothing.stamp, [])], [folded_values(self._plan, nothing)]
        for part in parts_of_keys(rows.codes):
            held = self._anchors.windows(rows.codes[part], rows.times[part], first, last)
            merged = ranges(fold, partials.take(rows.order[part]), held.low, held.high)
            codes.append(held.codes)
            ends.append(held.ends)
            counted.append(Partials(merged.rows, merged.stamp, []))
            finished.append(folded_values(self._plan, merged))
        return rows.found, np.concatenate(codes), np.concatenate(ends), counted, PaneValues.concat(finished)
