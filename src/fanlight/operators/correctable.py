"""Panes that fire when their window closes, and again whenever a late record corrects them.

    watermark   ──────── closes ─────────────── expires ──►
    slices      ▪ ▪ ▪ ▪  │ kept for corrections │ deleted
    firings              ON_TIME   LATE   LATE

Slices are all the state there is until a late record comes. It is folded into its slice like any other; the closed
panes it belongs to are merged from their slices once more, and only of these is it noted how often they have fired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.kernels.apart import Sliced
from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import encode_in_order
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW, covered
from fanlight.kernels.window_merge import Panes, merge_windows
from fanlight.model.firing import Op, Timing
from fanlight.operators.firing import Firings
from fanlight.operators.firing_counts import FiringCounts
from fanlight.operators.folded import Folded, FoldedSlices
from fanlight.operators.messages import Messages
from fanlight.operators.panes import Content, Moment
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken
from fanlight.operators.values import PaneValues, fitting, pane_values
from fanlight.operators.window_slices import WindowSlices, sliced
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class Corrected:
    """Closed panes that late records came to in a step, by window and key: their content, and how often they fired."""

    windows: Ints
    keys: list[pa.Array]
    partials: Partials
    fired: Ints


class CorrectablePanes:
    """Takes records into slices; a window's panes are merged from its slices when it closes, and when they change."""

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._slices = WindowSlices(plan, store)
        self._counts = FiringCounts(plan, store)
        self._messages = messages
        self._corrected: Corrected | None = None

    def take_in(self, taken: Taken | None, folded: Folded | None, moment: Moment) -> Taken | None:
        """Append the records' partials to their slices; of closed windows, see which panes they correct."""
        parts = [] if taken is None else [sliced(self._plan, taken)]
        if folded is not None:
            assert isinstance(folded, FoldedSlices)
            parts.append(Sliced(folded.slices, folded.keys, folded.partials))
        late = [rows for rows in (self._late(rows, moment) for rows in parts) if len(rows)]
        if late:
            self._corrected = self._correct(Sliced.concat(late), moment)
        for rows in parts:
            self._slices.append(rows)
        return taken

    def fire(self, moment: Moment) -> Firings | None:
        """The panes that were corrected, then those of the windows that closed in this step."""
        corrected, self._corrected = self._corrected, None
        parts = [] if corrected is None else [self._again(corrected, moment)]
        due = self._slices.holding(moment.closed_before + 1, moment.closed)
        if len(due):
            panes = self._slices.serve(due) if self._slices.overlap else self._slices.merged(due)
            parts.append(self._first(panes, moment))
            self._note_withheld(panes, parts[-1])
        return Firings.joined(parts)

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        self._slices.retire(through)
        self._counts.retire(through)

    def expiring(self, moment: Moment) -> Content:
        """What the windows hold that expire in this step."""
        return self.content(moment.expired_before + 1, moment.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """What the live panes of these windows hold now."""
        held = self._slices.holding(first, last)
        if not len(held):
            return Content.empty(self._plan)
        windows, keys, partials = self._slices.merged(held)
        return Content(windows, keys, partials.rows, self._values(windows, keys, partials).columns)

    def _late(self, rows: Sliced, moment: Moment) -> Sliced:
        """The rows that a closed window takes."""
        if not len(rows) or self._reach(rows.slices[:1], moment)[0][0] > moment.closed_before:
            return rows.part(0, 0)
        low, high = self._reach(rows.slices, moment)
        return rows.take(np.flatnonzero(low <= high))

    def _reach(self, slices: Ints, moment: Moment) -> tuple[Ints, Ints]:
        """The first and the last window of each slice that was closed before the step and had not expired."""
        first, last = self._plan.slicing.windows(slices)
        return np.maximum(first, moment.expired_before + 1), np.minimum(last, moment.closed_before)

    def _correct(self, late: Sliced, moment: Moment) -> Corrected:
        """The panes that late rows belong to, with what they held before and what comes now."""
        slicing, fold = self._plan.slicing, self._plan.fold
        windows = covered(*self._reach(late.slices, moment))
        brought = merge_windows(slicing, fold, windows, late)
        kept = self._slices.rows_of_keys(windows, late.keys, len(late))
        held = merge_windows(slicing, fold, windows, kept)
        owners = np.concatenate([held[0], brought[0]])
        found = encode_in_order([pa.concat_arrays(pair) for pair in zip(held[1], brought[1], strict=True)], len(owners))
        pairs = Pairs.of(owners, found.codes, found.count)
        groups = pairs.groups.codes[len(held[0]) :]
        merged = fold.merge(Partials.concat([held[2], brought[2]]), pairs.groups).take(groups)
        outer, codes = pairs.split(groups)
        keys = found.take(codes)
        had = (merged.rows > brought[2].rows).astype(np.int64)
        return Corrected(outer, keys, merged, self._counts.of(outer, keys, otherwise=had))

    def _first(self, panes: Panes, moment: Moment) -> Firings:
        windows, keys, partials = panes
        starts, ends = self._plan.slicing.bounds(windows)
        times = self._plan.fold.stamps(partials, ends, self._plan.spec.tick.micros)
        fired = Firings.once(keys, starts, ends, self._values(windows, keys, partials), times)
        return replace(fired, is_last=windows <= moment.expired)

    def _again(self, corrected: Corrected, moment: Moment) -> Firings:
        windows, fired = corrected.windows, corrected.fired
        first = self._first((windows, corrected.keys, corrected.partials), moment)
        self._counts.note(windows, corrected.keys, fired + fitting(first.outside, len(windows)))
        return replace(
            first,
            ops=np.where(fired > 0, Op.UPDATE, Op.INSERT),
            timings=np.full(len(windows), int(Timing.LATE)),
            indexes=fired,
            revisions=fired,
        )

    def _note_withheld(self, panes: Panes, fired: Firings) -> None:
        """Note the panes that have closed and not fired, because a value of theirs cannot be represented."""
        if fired.outside:
            rows = np.array(sorted(fired.outside), np.int64)
            keys = [column.take(pa.array(rows)) for column in panes[1]]
            self._counts.note(panes[0][rows], keys, np.zeros(len(rows), np.int64))

    def _values(self, windows: Ints, keys: list[pa.Array], partials: Partials) -> PaneValues:
        return pane_values(self._plan, self._messages, windows, keys, partials, None)
