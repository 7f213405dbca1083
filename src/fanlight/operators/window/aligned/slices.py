"""The slices of a shard's windows, and the panes that are made of slices alone: those that fire once.

Partials are appended as records come, and merged when a window is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials, SlicedPartials, merge_by_slice, partial_by_slice
from fanlight.kernels.aggregates.join_slices import join_slices
from fanlight.kernels.grouping.groups import Ints, Pairs, encode, encode_loosely, encode_together
from fanlight.kernels.slicing.merge_windows import Panes, in_any, is_sparse, merge_windows
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, covered
from fanlight.operators.chunk_log import ChunkLog, in_one
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.aligned.hopping_cache import ServedWindows
from fanlight.operators.window.firing.rows import Firings, pane_values
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Content
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregated import PreAggregatedSlices
from fanlight.operators.window.step_time import StepTime
from fanlight.state.store import ChunkStore

_MANY = 256
"""If more windows than this are needed at once, it is worth checking whether they have few rows."""


class PartialLog:
    """Partials by slice and key."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._schema = pa.schema([*plan.key_fields, *plan.aggregation.fields])
        self._log = ChunkLog(store, "partials")

    @property
    def slices(self) -> Ints:
        """The slices that hold anything, ascending."""
        return self._log.slices

    def append(self, slices: Ints, keys: list[pa.Array], partials: Partials) -> None:
        """Add partials, which are ordered by slice."""
        touched = self._log.append(slices, self._chunk(keys, partials))
        for slice_ in self._log.crowded(touched):
            _, merged_keys, merged = self._merged([slice_])
            self._log.replace(slice_, self._chunk(merged_keys, merged))

    def read(self, slices: Iterable[int]) -> tuple[Ints, list[pa.Array], Partials]:
        """The rows of these slices in the order of the log: slice, keys, partials. A key may occur more than once."""
        owners, chunks = self._log.read(slices)
        batch = in_one(chunks, self._schema)
        width = len(self._plan.spec.keys)
        rows = np.repeat(owners, [len(chunk) for chunk in chunks]) if chunks else owners
        return rows, batch.columns[:width], self._plan.aggregation.from_arrays(batch.columns[width:])

    def retire(self, slices: Iterable[int]) -> None:
        """Delete whole slices."""
        self._log.retire(slices)

    def _merged(self, slices: list[int]) -> tuple[Ints, list[pa.Array], Partials]:
        owners, keys, partials = self.read(slices)
        found = encode(keys, len(owners))
        pairs = Pairs.of(owners, found.codes, found.count)
        outer, codes, merged = pairs.settle(self._plan.aggregation.merge(partials, pairs.groups))
        return outer, found.take(codes), merged

    def _chunk(self, keys: list[pa.Array], partials: Partials) -> pa.RecordBatch:
        return pa.record_batch([*keys, *self._plan.aggregation.to_arrays(partials)], schema=self._schema)


class WindowSlices:
    """The content of a shard's aligned windows, stored once however many windows overlap."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._plan = plan
        self._log = PartialLog(plan, store)
        self._served = ServedWindows(plan, self._log) if plan.slicing.width > 1 else None

    @property
    def overlap(self) -> bool:
        """Whether windows share slices."""
        return self._served is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not len(self._log.slices)

    def append(self, rows: SlicedPartials) -> None:
        """Add partials to their slices. Nothing is read."""
        self._log.append(rows.slices, rows.keys, rows.partials)
        if self._served is not None:
            self._served.touch(rows.slices, rows.keys, rows.partials)

    def holding(self, first: int, last: int, also: Ints | None = None) -> Ints:
        """The windows first..last that have a record, ascending; `also` are slices that are not stored here."""
        if last < first:
            return np.zeros(0, np.int64)
        slices = self._log.slices if also is None else np.union1d(self._log.slices, also)
        if self._served is None:  # a slice has one window
            windows = self.window_of(slices)
            return windows[(windows >= first) & (windows <= last)]
        low, high = self._plan.slicing.windows(slices)
        return covered(np.maximum(low, first), np.minimum(high, last))

    def serve(self, windows: Ints) -> Panes:
        """The panes of windows that overlap; called once for each window, in ascending order."""
        assert self._served is not None
        if len(windows) > _MANY:
            rows = self.rows(windows)
            if is_sparse(self._plan.slicing, windows, rows.slices):
                return merge_windows(self._plan.slicing, self._plan.aggregation, windows, rows)
        return self._served.serve(windows)

    def merged(self, windows: Ints) -> Panes:
        """The panes of any windows, in any order of calls."""
        rows = self.rows(windows)
        if self._served is not None:
            return merge_windows(self._plan.slicing, self._plan.aggregation, windows, rows)
        panes = merge_by_slice(self._plan.aggregation, rows)
        return self.window_of(panes.slices), panes.keys, panes.partials

    def rows(self, windows: Ints) -> SlicedPartials:
        """The rows of the slices of these windows as they lie in the log."""
        slices = self._log.slices
        if self._served is None:  # a slice has one window
            wanted = slices[np.isin(self.window_of(slices), windows)]
        else:
            wanted = slices[in_any(self._plan.slicing, windows, slices)]
        return SlicedPartials(*self._log.read(wanted.tolist()))

    def rows_of_keys(self, windows: Ints, keys: list[pa.Array], count: int) -> SlicedPartials:
        """The rows of these windows that have one of `count` keys."""
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


def sliced(plan: Plan, accepted: Accepted, *, in_order: bool = False) -> SlicedPartials:
    """Aggregate records by slice and key; with `in_order` the keys of a slice ascend."""
    found = encode_loosely(accepted.keys(plan), len(accepted.slices), in_order=in_order)
    values, times = accepted.values(plan), accepted.bundle.times
    marks = accepted.counted(plan), accepted.bundle.deletes
    return partial_by_slice(plan.aggregation, values, times, accepted.slices, found, *marks)


class SingleFiringPanes:
    """Adds records to slices; a window's panes are merged from its slices when it expires.

    Where windows share no slice, partials of a window that expires in the same step stay in memory until the step
    ends and are never stored. If no earlier step had records of that window, they are its panes. Each input of a step
    has partials of its own.
    """

    def __init__(self, plan: Plan, store: ChunkStore, messages: Messages | None) -> None:
        self._plan = plan
        self._slices = WindowSlices(plan, store)
        self._messages = messages
        self._held: list[SlicedPartials] = []

    def take_in(
        self, accepted: Accepted | None, preaggregated: PreAggregatedSlices | None, step: StepTime
    ) -> Accepted | None:
        """Append the records' partials to their slices. Nothing is read."""
        if accepted is not None:
            holds = not self._slices.overlap and self._expires_now(accepted, step)
            rows = sliced(self._plan, accepted, in_order=holds)
            if holds:
                rows = self._hold(rows, step)
            if len(rows.slices):
                self._slices.append(rows)
        if preaggregated is not None:
            self._slices.append(preaggregated)
        return accepted

    def fire(self, step: StepTime) -> Firings | None:
        """The panes of the windows that expired in this step."""
        due = self._windows(step.expired_before + 1, step.expired)
        if not len(due):
            return None
        panes = self._slices.serve(due) if self._slices.overlap else self._merged(due)
        windows, keys, partials = self._filled(panes)
        starts, ends = self._plan.slicing.bounds(windows)
        times = self._plan.aggregation.stamps(partials, ends, self._plan.spec.tick.micros)
        values = pane_values(self._plan, self._messages, windows, keys, partials, None)
        return Firings.once(keys, starts, ends, values, times)

    def retire(self, through: int) -> None:
        """Delete the slices whose last window is `through` or before."""
        self._slices.retire(through)
        self._held = []

    def expiring(self, step: StepTime) -> Content:
        """The content of the windows that expire in this step."""
        return self.content(step.expired_before + 1, step.expired)

    def content(self, first: int = NO_WINDOW, last: int = EVERY_WINDOW) -> Content:
        """The content of the live panes of these windows."""
        due = self._windows(first, last)
        if not len(due):
            return Content.empty(self._plan)
        windows, keys, partials = self._filled(self._merged(due))
        values = pane_values(self._plan, self._messages, windows, keys, partials, None)
        return Content(windows, keys, self._plan.aggregation.held(partials), values.columns)

    def _filled(self, panes: Panes) -> Panes:
        """The panes in which a row is left; without changes, all of them."""
        windows, keys, partials = panes
        if not self._plan.aggregation.signed:
            return panes
        filled = np.flatnonzero(self._plan.aggregation.held(partials) > 0)
        return windows[filled], [column.take(pa.array(filled)) for column in keys], partials.take(filled)

    def _expires_now(self, accepted: Accepted, step: StepTime) -> bool:
        """Whether a window of these records expires in the step that brings them."""
        if step.expired == step.expired_before:
            return False
        return bool(self._slices.window_of(accepted.slices.min(keepdims=True))[0] <= step.expired)

    def _hold(self, rows: SlicedPartials, step: StepTime) -> SlicedPartials:
        """Hold back the partials of windows that expire in this step; returns the rest."""
        if self._slices.window_of(rows.slices[-1:])[0] <= step.expired:
            due = rows
        else:
            slices = rows.distinct
            due = rows.between(slices[0], slices[self._slices.window_of(slices) <= step.expired][-1])
        self._held.append(due)
        return rows.part(len(due), len(rows))

    def _windows(self, first: int, last: int) -> Ints:
        """The windows first..last that have a record."""
        held = [rows.distinct for rows in self._held]
        return self._slices.holding(first, last, np.concatenate(held) if held else None)

    def _merged(self, windows: Ints) -> Panes:
        """The panes of these windows in order, partials held in memory included."""
        if not self._held:
            return self._slices.merged(windows)
        slices = [self._plan.slicing.members(window)[0] for window in (int(windows[0]), int(windows[-1]))]
        panes = self._joined([held.between(*slices) for held in self._held], windows)
        return self._slices.window_of(panes.slices), panes.keys, panes.partials

    def _joined(self, held: list[SlicedPartials], windows: Ints) -> SlicedPartials:
        """What is held of these windows with what is kept of them; only of the latter a key may come more than once.

        kept    7 7 7 8
        held    7 7 8 8 8 | 9 9 9     the last are merged with none that is kept
        """
        kept = None if self._slices.is_empty else self._slices.rows(windows)
        if kept is None or not len(kept):
            return self._as_one(held)
        mixed = [rows.between(rows.slices[0], kept.slices[-1]) if len(rows) else rows for rows in held]
        alone = [rows.part(len(part), len(rows)) for rows, part in zip(held, mixed, strict=True)]
        both = SlicedPartials.concat([kept, *mixed])
        merged = merge_by_slice(self._plan.aggregation, both.take(np.argsort(both.slices, kind="stable")))
        return SlicedPartials.concat([merged, self._as_one(alone)])

    def _as_one(self, held: list[SlicedPartials]) -> SlicedPartials:
        """What the inputs of a step have brought; most pipelines have one."""
        return held[0] if len(held) == 1 else join_slices(self._plan.aggregation, held)
