"""A windowed aggregate driven by its protocol, without a host: bundles as the test makes them, no clock of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.operators.accounting import Accounting, Books, DeadLetters
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.inputs import NO_SIGNAL, Signal
from fanlight.operators.operator import Progress
from fanlight.operators.preaggregator import PreAggregated
from fanlight.operators.window.aggregate import operator_of
from fanlight.operators.window.panes import Content, Panes
from fanlight.operators.window.plan import Plan
from fanlight.state.store import ChunkStore


class Driven:
    """Takes steps as a shard does: each part of the bundle is taken in, fires and is retired; then all is committed."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self.plan = plan
        self.store = store
        self.books = Books(plan.schema, of_times=plan.of_times)
        self.aggregate = operator_of(plan)(store, self.books)
        self.watermark = self.clock = START_OF_TIME
        self.arrived = 0

    def again(self, plan: Plan) -> Driven:
        """The same over what the store holds, as after a restart; the host remembers times and counts."""
        other = Driven(plan, self.store)
        other.watermark, other.clock, other.arrived = self.watermark, self.clock, self.arrived
        return other

    @property
    def panes(self) -> Panes:
        return self.aggregate.panes

    @property
    def letters(self) -> DeadLetters:
        return self.books.letters

    @property
    def accounting(self) -> Accounting:
        return self.books.accounting

    @property
    def is_live(self) -> bool:
        """Whether anything is kept that time alone could make fire or expire."""
        return any(self.store.list(space) for space in ("partials", "panes", "records", "retained"))

    def step(
        self,
        bundle: Bundle | None = None,
        watermark: Timestamp = START_OF_TIME,
        clock: Timestamp = START_OF_TIME,
        signal: Signal = NO_SIGNAL,
        *,
        preaggregated: PreAggregated | None = None,
    ) -> list[pa.RecordBatch]:
        self.clock = max(self.clock, clock)
        reached = max(self.watermark, watermark)
        if bundle is None and preaggregated is not None:
            bundle = Bundle(
                pa.RecordBatch.from_pylist([], schema=self.plan.schema),
                np.zeros(0, np.int64),
                np.array([self.watermark]),
            )
        if bundle is not None:
            bundle = replace(bundle, first=self.arrived, preaggregated=preaggregated)
        parts: list[Any] = [(None, reached)]
        if bundle is not None:
            parts = list(self.aggregate.parts(bundle, self._progress(reached, signal)))
        rows = []
        try:
            for part, through in parts:
                rows += self._part(part, self._progress(through, signal))
        except BaseException:
            self.store.rollback()
            self.aggregate = operator_of(self.plan)(self.store, self.books)
            raise
        self.store.commit()
        return rows

    def end(self, signal: Signal = NO_SIGNAL) -> list[pa.RecordBatch]:
        rows = self._part(None, replace(self._progress(END_OF_TIME, signal), ends=True))
        self.store.commit()
        return rows

    def content(self) -> list[tuple[str, Content]]:
        return self.aggregate.content(self.watermark)

    def _part(self, part: Bundle | None, progress: Progress) -> list[pa.RecordBatch]:
        if part is not None and part.records:
            self.arrived += part.records
            progress = replace(progress, arrived=self.arrived - 1)
            self.books.accept(self.aggregate.take_in(part, progress))
        rows = self.aggregate.fire(progress)
        self.aggregate.retire(progress)
        self.watermark = progress.watermark
        return rows

    def _progress(self, watermark: Timestamp, signal: Signal) -> Progress:
        return Progress(self.watermark, watermark, self.clock, self.arrived - 1, signal)
