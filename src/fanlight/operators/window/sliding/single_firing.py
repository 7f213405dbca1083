"""Sliding windows that fire once: their records are the only state."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.groups import Ints, KeyCodes
from fanlight.kernels.merge_ranges import ranges
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.kernels.sliding_windows import Anchors
from fanlight.kernels.sort_key_time import parts_of_keys, sort_by_key_time
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.windows.sliding import Sliding
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Accepted, Lateness, rejected, rejected_each
from fanlight.operators.window.firing.rows import Firings, PaneValues, incremental_values
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.sliding.row_log import LoggedRows, RowLog, SortedRows
from fanlight.operators.window.sliding.too_late import too_late
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.end_buckets import width_for
from fanlight.state.store import ChunkStore

_LAST = LATEST + 1


class SlidingOnce:
    """Stores records; when windows expire, it sorts their records and merges the range of each window."""

    def __init__(
        self,
        plan: Plan,
        kind: Sliding,
        store: ChunkStore,
        lateness: Lateness,
        books: Books,
    ) -> None:
        self._plan = plan
        self._anchors = Anchors.of(kind, plan.spec.tick.micros, plan.spec.semantics)
        self._log = RowLog(plan, store, width_for(kind.difference.micros))
        self._lateness = lateness
        self._books = books

    def take_in(self, accepted: Accepted | None, preaggregated: None, step: StepTime) -> Accepted | None:
        """Keep the records that a window can still need."""
        if accepted is None:
            return None
        homeless = self._anchors.homeless(accepted.bundle.times)
        accepted = rejected(accepted, homeless, Reason.NO_WINDOW, self._books)
        dead = too_late(self._plan, self._anchors, self._lateness, self._log, accepted)
        accepted = rejected_each(accepted, dead, Reason.EXPIRED, self._books)
        self._books.miss(self._anchors.past_own(accepted.bundle.times, step.expired_before))
        self._log.append(LoggedRows.of(self._plan, accepted))
        return accepted

    def fire(self, step: StepTime) -> Firings | None:
        """The windows that expired in this step."""
        found, codes, ends, counted, values = self._windows(step.expired_before, step.expired)
        if not len(ends):
            return None
        # Codes are in the order of the keys, and all windows have one length.
        order, ends, codes = sort_by_key_time(ends, codes)
        values = values.take(order)
        stamped = counted[0] if counted[0].stamp is None else Partials.concat(counted).take(order)
        times = self._plan.aggregation.stamps(stamped, ends, self._plan.spec.tick.micros)
        return Firings.once(found.take(codes), ends - self._anchors.length, ends, values, times)

    def retire(self, through: int) -> None:
        """Delete records once all their windows have expired: those that contain them and those that they define."""
        self._log.retire(_LAST if through == EVERY_WINDOW else through - self._anchors.reach)

    def expiring(self, step: StepTime) -> Content:
        """The content of the windows that expire in this step."""
        return self.content(step.expired_before + 1, step.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the windows that end from `first` to `last`."""
        found, codes, ends, counted, values = self._windows(first - 1, last)
        order, ends, codes = sort_by_key_time(ends, codes)
        rows = Partials.concat(counted).rows[order]
        return Content(ends, found.take(codes), rows, values.take(order).columns, ends - self._anchors.length)

    def _windows(self, first: int, last: int) -> tuple[KeyCodes, Ints, Ints, list[Partials], PaneValues]:
        """The windows with `first < end <= last`, by key and end: keys, their codes, ends, rows and stamps, values.

        It works on some keys at a time, so that the data of a window stays in the cache. Rows and stamps are left in
        these parts, because both are hardly ever needed.
        """
        low = max(first, EARLIEST - self._anchors.reach) - self._anchors.reach
        logged, inside = self._log.around(low, _LAST if last == EVERY_WINDOW else min(last, _LAST))
        rows = SortedRows.of(logged, inside)
        aggregation, partials = self._plan.aggregation, logged.partials
        nothing = aggregation.identity(0)
        codes, ends = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        counted, finished = [Partials(nothing.rows, nothing.stamp, [])], [incremental_values(self._plan, nothing)]
        for part in parts_of_keys(rows.codes):
            held = self._anchors.windows(rows.codes[part], rows.times[part], first, last)
            merged = ranges(aggregation, partials.take(rows.order[part]), held.low, held.high)
            codes.append(held.codes)
            ends.append(held.ends)
            counted.append(Partials(merged.rows, merged.stamp, []))
            finished.append(incremental_values(self._plan, merged))
        return rows.found, np.concatenate(codes), np.concatenate(ends), counted, PaneValues.concat(finished)
