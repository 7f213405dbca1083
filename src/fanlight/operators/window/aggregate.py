"""The operator of windowed aggregates: it judges records, adds them to panes, and fires and retires panes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, covered
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp, TimestampLike
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.operator import BoundSpec, Operator, PaneRows, Progress
from fanlight.operators.window.admission import Accepted, Lateness, judge
from fanlight.operators.window.aligned.slices import SingleFiringPanes
from fanlight.operators.window.firing.withheld import details
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Content, MakePanes
from fanlight.operators.window.panes_of_kind import panes_of
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregator import preaggregator_of
from fanlight.operators.window.query_state import StateQuery, messages_table, windows_table
from fanlight.operators.window.retained import Retained
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.messages_by_key import MessagesByKey
from fanlight.operators.window.unaligned.retained_by_key import RetainedByKey
from fanlight.state.store import ChunkStore


def bind_window(spec: WindowSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:
    """A windowed aggregate bound to its columns. Lean rows have no pane column if each pane fires once."""
    plan = Plan.bind(spec, schema)
    is_lean = lean and spec.fires_once
    make = operator_of(plan, tells_panes=not is_lean)
    panes = PaneRows(spec.accumulation is Accumulation.DISCARDING, spec.firing_time is not FiringTime.END)
    result = plan.rows if is_lean else plan.result
    return BoundSpec(schema, result, make, panes, plan.of_times, preaggregator_of(plan), TimeReader.of(spec))


def operator_of(plan: Plan, *, tells_panes: bool = True) -> Callable[[ChunkStore, Books], WindowAggregate]:
    """How to make the operator of a shard; what follows from the plan alone is looked up here, once for all shards."""
    lateness, make_panes = Lateness(plan.spec, plan.slicing), panes_of(plan.spec.window, plan)
    return partial(WindowAggregate, plan, lateness, make_panes, tells_panes=tells_panes)


class WindowAggregate(Operator):
    """The panes of one shard, with the stored messages and the retained windows."""

    def __init__(
        self,
        plan: Plan,
        lateness: Lateness,
        make_panes: MakePanes,
        store: ChunkStore,
        books: Books,
        *,
        tells_panes: bool = True,
    ) -> None:
        self.plan = plan
        self._books = books
        self._tells_panes = tells_panes
        self._lateness = lateness
        storing, keeping = (Messages, Retained) if plan.is_aligned else (MessagesByKey, RetainedByKey)
        self._messages: Messages | MessagesByKey | None = storing(plan, store) if plan.keeps_messages else None
        self._retained: Retained | RetainedByKey | None = None
        if plan.spec.retention is not None:
            self._retained = keeping(plan, store, plan.spec.retention)
        shared = self._messages if isinstance(self._messages, Messages) else None
        self.panes = make_panes(store, shared, lateness, books)
        self.takes_each_input = (
            isinstance(self.panes, SingleFiringPanes) and not plan.keeps_messages and not plan.operations
        )

    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Judge the records and add them to their panes."""
        step, came = self._at(progress), bundle.preaggregated
        if self.plan.operations is not None:
            bundle = self.plan.operations.read(bundle, self._books)
        accepted: Accepted | None = None
        if len(bundle):
            accepted = judge(self.plan, self._lateness, bundle, self._books)
        if came is not None:
            self._books.miss(came.missed(self.plan.slicing, step.expired_before))
        if accepted or came:
            accepted = self.panes.take_in(accepted or None, came, step)
        if accepted and self._messages is not None:
            self._messages.append(accepted)
        return (len(accepted) if accepted else 0) + (0 if came is None else came.records)

    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The firings of this step as rows; a firing with a value that does not fit its type becomes a dead letter."""
        firings = self.panes.fire(self._at(progress))
        if firings is not None and firings.outside.exact:
            firings, withheld = firings.parted()
            self._books.withhold(details(self.plan, withheld), progress.watermark)
        if firings is None or not len(firings.ends):
            return []
        return [firings.to_batch(self.plan, progress.clock, panes=self._tells_panes)]

    def retire(self, progress: Progress) -> None:
        """Delete the windows that have expired, except for what retention keeps."""
        step = self._at(progress)
        if self._retained is not None:
            expired = self._with_offsets(self.panes.expiring(step))
            self._retained.keep(expired)
            dropped = self._retained.trim(step.watermark)
            if isinstance(self._retained, RetainedByKey):
                self._settle_messages(expired, self._retained, dropped, step)
        self.panes.retire(step.expired)
        if isinstance(self._messages, Messages):
            self._retire_messages(self._messages, step)

    def parts(self, bundle: Bundle, progress: Progress) -> list[tuple[Bundle, Timestamp]]:
        """Cut the bundle where a window expires inside it, if panes fire once.

        Only a bundle that is judged record by record is cut. Before a record whose own watermark expires another
        window, that window fires first.
        """
        if len(bundle.watermarks) < 2 or not isinstance(self.panes, SingleFiringPanes):
            return [(bundle, progress.watermark)]
        expired = self._lateness.expired_by(bundle.watermarks)
        before = np.concatenate([[self._lateness.expired_through(progress.before)], expired[:-1]])
        cuts = np.flatnonzero(expired > before).tolist()
        bounds = [0, *cuts, len(bundle)]
        reached = [*(int(bundle.watermarks[cut]) for cut in cuts), progress.watermark]
        return [(bundle.part(bounds[i], bounds[i + 1]), reached[i]) for i in range(len(reached))]

    def windows(
        self, watermark: Timestamp, start: TimestampLike | None, end: TimestampLike | None, key: Any = None
    ) -> pa.Table:
        """The windows that overlap `[start, end)`, with their content: live and retained ones, of one key or of all."""
        return self.query_windows(StateQuery.of(self.plan, start, end, key), watermark)

    def messages(
        self,
        start: TimestampLike | None,
        end: TimestampLike | None,
        key: Any,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> pa.Table:
        """The stored records with `start <= time < end` and offsets alike, of a key or of all, by time and arrival."""
        return self.query_messages(StateQuery.of(self.plan, start, end, key).by_offset(start_offset, end_offset))

    def query_windows(self, query: StateQuery, watermark: Timestamp) -> pa.Table:
        """The windows that a query names."""
        return windows_table(self.plan, self.content(watermark, *query.windows(self.plan)), query)

    def query_messages(self, query: StateQuery) -> pa.Table:
        """The messages that a query names."""
        return messages_table(self.plan, self._messages, query)

    def content(
        self, watermark: Timestamp, first: int = NO_WINDOW, last: int = EVERY_WINDOW
    ) -> list[tuple[str, Content]]:
        """The content of windows: live ones, and expired ones that are still readable."""
        retained = [] if self._retained is None else [("expired", self._retained.content(first, last))]
        closed, expired = self._lateness.through(watermark)
        first = max(first, expired + 1)
        return [
            *retained,
            ("closed", self._with_offsets(self.panes.content(first, min(last, closed)))),
            ("open", self._with_offsets(self.panes.content(max(first, closed + 1), last))),
        ]

    def _with_offsets(self, content: Content) -> Content:
        """The content of live panes, with their offsets where the pipeline keeps them."""
        if self.plan.spec.offsets is None or self._messages is None:
            return content
        if isinstance(self._messages, Messages):
            return replace(content, offsets=self._messages.offsets(content.windows, content.keys))
        return replace(content, offsets=self._messages.offsets(content))

    def _at(self, progress: Progress) -> StepTime:
        """The time of a step, also in window numbers."""
        closed_before, expired_before = self._lateness.through(progress.before)
        closed, expired = self._lateness.through(progress.watermark)
        if progress.ends:
            closed = expired = EVERY_WINDOW
        watermark = END_OF_TIME if progress.ends else progress.watermark
        return StepTime(
            watermark, progress.clock, closed_before, closed, expired_before, expired, progress.arrived, progress.signal
        )

    def _settle_messages(self, expired: Content, retained: RetainedByKey, dropped: Ints, step: StepTime) -> None:
        """Let the messages of unaligned windows follow them, if a window has expired or is no longer readable."""
        changes = len(expired.windows) or len(dropped) or step.expired > step.expired_before
        if isinstance(self._messages, MessagesByKey) and changes:
            self._messages.settle(expired, retained.every(), dropped, step)

    def _retire_messages(self, messages: Messages, step: StepTime) -> None:
        slices, through = messages.slices, step.expired
        first, last = self.plan.slicing.windows(slices)
        if self._retained is not None and self.plan.spec.message_retention:
            windows = covered(first, np.minimum(last, through))
            through = min(through, self._retained.forgotten(windows, step.watermark))
        messages.retire(slices[last <= through].tolist())
