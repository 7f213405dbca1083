"""The protocol of an operator, and of a spec that is bound to its input columns.

    bundle ──► take_in ──► fire ──► retire          in every step, in this order
                  │          │
              dead letters  rows

A shard (`operators.shard`) hosts an operator: it reads times, keeps the clock and the watermark, counts records, and
commits or undoes each step. An operator keeps all its state in the shard's store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fanlight.errors import EngineError
from fanlight.model.time.timestamp import Timestamp, TimestampLike
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle, TimeReader
from fanlight.operators.ingest.inputs import NO_SIGNAL, Signal
from fanlight.operators.preaggregator import PreAggregator
from fanlight.state.store import ChunkStore


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of time in a step: the watermark before and after it, the clock, and the signal."""

    before: Timestamp
    watermark: Timestamp
    clock: Timestamp
    arrived: int
    """The arrival number of the last record."""
    signal: Signal = NO_SIGNAL
    ends: bool = False
    """Whether the input ends with this step: then everything expires."""
    inputs: Mapping[str, tuple[Timestamp, Timestamp]] | None = None
    """The watermark of each input before and after the step; None if the operator does not go by each."""


class Operator(ABC):
    """The logic of one shard: records in, rows out."""

    takes_each_input: bool = False
    """Whether the bundles of several inputs may be taken in one after the other, which spares making them one.

    Nothing leaves then before the watermark moves, and no record is judged by others of its bundle.
    """

    @abstractmethod
    def take_in(self, bundle: Bundle, progress: Progress) -> int:
        """Take in a bundle, and reject records that cannot be used; returns how many were accepted."""

    @abstractmethod
    def fire(self, progress: Progress) -> list[pa.RecordBatch]:
        """The output rows of this step, in order."""

    def retire(self, progress: Progress) -> None:
        """Delete state that no later step can need."""

    def parts(self, bundle: Bundle, progress: Progress) -> list[tuple[Bundle, Timestamp]]:
        """Cut the bundle where rows must leave before later records come; each part with the watermark it reaches."""
        return [(bundle, progress.watermark)]

    def windows(
        self, watermark: Timestamp, start: TimestampLike | None, end: TimestampLike | None, key: Any = None
    ) -> pa.Table:
        """The windows that overlap `[start, end)`, with their content; called between two steps."""
        raise EngineError("windows: this operator keeps no windows. Only windowed aggregates can be asked for them.")

    def messages(
        self,
        start: TimestampLike | None,
        end: TimestampLike | None,
        key: Any,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> pa.Table:
        """The stored records with `start <= time < end`, and offsets alike; called between two steps."""
        raise EngineError("messages: this operator keeps no messages. Only windowed aggregates can be asked for them.")

    def kept(self, progress: Progress) -> dict[str, pa.Table]:
        """The rows that are kept, by input; called between two steps, with what the last one has reached."""
        raise EngineError(
            "kept: this operator does not keep rows by input. Only joins by interval and by frames can be asked."
        )


@dataclass(frozen=True, slots=True)
class PaneRows:
    """What a sink must know of rows with a window and a pane."""

    increments: bool = False
    """Whether a firing adds to the earlier ones instead of replacing them."""
    stamped: bool = False
    """Whether a firing's time does not follow from its window."""


@dataclass(frozen=True, slots=True)
class BoundSpec:
    """A spec bound to its input columns: what a shard must know of it, and how to make its operator."""

    schema: pa.Schema
    """The columns of the input."""
    result: pa.Schema
    """The columns of the output rows."""
    make: Callable[[ChunkStore, Books], Operator]
    panes: PaneRows | None = None
    """About rows that have a window; None if they are just columns."""
    of_times: bool = True
    """Whether watermarks are times or positions."""
    preaggregator: PreAggregator | None = None
    """Aggregates records before they travel to their shard; None if the spec does not allow it."""
    times: TimeReader | None = None
    """Reads the times of records; None: as the spec says."""
    unique: tuple[str, ...] = ()
    """Where rows are just columns, those that tell them apart: a later row takes the place of the earlier one."""
    op: str | None = None
    """The column that says what such a row does to it."""
