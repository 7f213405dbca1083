"""Panes that fire when their window closes, and again whenever a late record corrects them.

    watermark   ──────── closes ─────────────── expires ──►
    slices      ▪ ▪ ▪ ▪  │ kept for corrections │ deleted
    firings              ON_TIME   LATE   LATE

Until a late record comes, slices are the only state. A late record is added to its slice like any other. The closed
panes it belongs to are merged from their slices again, and only for these panes the number of firings is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials, SlicedPartials
from fanlight.kernels.grouping.groups import Ints, Pairs, encode_in_order
from fanlight.kernels.slicing.merge_windows import Panes, merge_windows
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, covered
from fanlight.model.firing import Op, Timing
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.aligned.firing_counts import FiringCounts
from fanlight.operators.window.aligned.slices import WindowSlices, sliced
from fanlight.operators.window.firing.rows import Firings, PaneValues, pane_values
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregated import PreAggregatedSlices
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class Corrected:
    """Closed panes that got late records in a step, by window and key: their content, and how often they have fired."""

    windows: Ints
    keys: list[pa.Array]
    partials: Partials
    fired: Ints


class CorrectedPanes:
    """Adds records to slices; panes are merged from slices when their window closes, and again when they change."""

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._slices = WindowSlices(plan, store)
        self._counts = FiringCounts(plan, store)
        self._messages = messages
        self._corrected: Corrected | None = None

    def take_in(
        self, accepted: Accepted | None, preaggregated: PreAggregatedSlices | None, step: StepTime
    ) -> Accepted | None:
        """Append the records' partials to their slices, and note which closed panes they correct."""
        parts = [] if accepted is None else [sliced(self._plan, accepted)]
        if preaggregated is not None:
            parts.append(preaggregated)
        late = [rows for rows in (self._late(rows, step) for rows in parts) if len(rows)]
        if late:
            self._corrected = self._correct(SlicedPartials.concat(late), step)
        for rows in parts:
            self._slices.append(rows)
        return accepted

    def fire(self, step: StepTime) -> Firings | None:
        """The corrected panes, then the panes of the windows that closed in this step."""
        corrected, self._corrected = self._corrected, None
        parts = [] if corrected is None else [self._again(corrected, step)]
        due = self._slices.holding(step.closed_before + 1, step.closed)
        if len(due):
            panes = self._slices.serve(due) if self._slices.overlap else self._slices.merged(due)
            parts.append(self._first(panes, step))
            self._note_withheld(panes, parts[-1])
        return Firings.joined(parts)

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        self._slices.retire(through)
        self._counts.retire(through)

    def expiring(self, step: StepTime) -> Content:
        """The content of the windows that expire in this step."""
        return self.content(step.expired_before + 1, step.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live panes of these windows."""
        held = self._slices.holding(first, last)
        if not len(held):
            return Content.empty(self._plan)
        windows, keys, partials = self._slices.merged(held)
        return Content(windows, keys, partials.rows, self._values(windows, keys, partials).columns)

    def _late(self, rows: SlicedPartials, step: StepTime) -> SlicedPartials:
        """The rows that belong to a closed window."""
        if not len(rows) or self._reach(rows.slices[:1], step)[0][0] > step.closed_before:
            return rows.part(0, 0)
        low, high = self._reach(rows.slices, step)
        return rows.take(np.flatnonzero(low <= high))

    def _reach(self, slices: Ints, step: StepTime) -> tuple[Ints, Ints]:
        """For each slice, the first and last of its windows that were closed before the step and had not expired."""
        first, last = self._plan.slicing.windows(slices)
        return np.maximum(first, step.expired_before + 1), np.minimum(last, step.closed_before)

    def _correct(self, late: SlicedPartials, step: StepTime) -> Corrected:
        """The panes of late rows, with their earlier content and what is new."""
        slicing, aggregation = self._plan.slicing, self._plan.aggregation
        windows = covered(*self._reach(late.slices, step))
        brought = merge_windows(slicing, aggregation, windows, late)
        kept = self._slices.rows_of_keys(windows, late.keys, len(late))
        held = merge_windows(slicing, aggregation, windows, kept)
        owners = np.concatenate([held[0], brought[0]])
        found = encode_in_order([pa.concat_arrays(pair) for pair in zip(held[1], brought[1], strict=True)], len(owners))
        pairs = Pairs.of(owners, found.codes, found.count)
        groups = pairs.groups.codes[len(held[0]) :]
        merged = aggregation.merge(Partials.concat([held[2], brought[2]]), pairs.groups).take(groups)
        outer, codes = pairs.split(groups)
        keys = found.take(codes)
        had = (merged.rows > brought[2].rows).astype(np.int64)
        return Corrected(outer, keys, merged, self._counts.of(outer, keys, otherwise=had))

    def _first(self, panes: Panes, step: StepTime) -> Firings:
        windows, keys, partials = panes
        starts, ends = self._plan.slicing.bounds(windows)
        times = self._plan.aggregation.stamps(partials, ends, self._plan.spec.tick.micros)
        fired = Firings.once(keys, starts, ends, self._values(windows, keys, partials), times)
        return replace(fired, is_last=windows <= step.expired)

    def _again(self, corrected: Corrected, step: StepTime) -> Firings:
        windows, fired = corrected.windows, corrected.fired
        first = self._first((windows, corrected.keys, corrected.partials), step)
        self._counts.note(windows, corrected.keys, fired + first.outside.fits)
        return replace(
            first,
            ops=np.where(fired > 0, Op.UPDATE, Op.INSERT),
            timings=np.full(len(windows), int(Timing.LATE)),
            numbers=fired,
            revisions=fired,
        )

    def _note_withheld(self, panes: Panes, fired: Firings) -> None:
        """Note the closed panes whose firing was withheld, because a value does not fit its type."""
        if fired.outside:
            rows = fired.outside.rows
            keys = [column.take(pa.array(rows)) for column in panes[1]]
            self._counts.note(panes[0][rows], keys, np.zeros(len(rows), np.int64))

    def _values(self, windows: Ints, keys: list[pa.Array], partials: Partials) -> PaneValues:
        return pane_values(self._plan, self._messages, windows, keys, partials, None)
