"""A result read as a stream again: what the next stage must know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanlight.model.changes import Changes
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.unit import TimeUnit

WINDOW_START, WINDOW_END, WINDOW_TIME = "window_start", "window_end", "window_time"
"""Columns that the results of windows have as a stream: the bounds of the window, and the time of the firing."""
ROW = "row"
"""The result as one struct, for aggregates that keep whole rows."""
RECORD = "whole record"
"""A record as one struct, for aggregates that work on whole records. It has a blank, as few columns have."""
OP = "op"
"""The operation of a result that can be taken back."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A result as a stream: the column of its times, how late its rows may come, and whether they change others."""

    time: str
    unit: TimeUnit | None = None
    lateness: Duration = ZERO
    """How far behind the watermark that is handed on its rows may be."""
    changes: Changes | None = None
    """How a row changes earlier ones. None: every row stays."""
    tick: Duration = Duration(1)


def carried_windows(times: Any, batch: Any) -> tuple[Any, Any]:  # noqa: ARG001 -- the windows are not those of times
    """The windows that records carry with them, as the results of a stage before do."""
    starts, ends = (batch.column(name).cast("int64").to_numpy() for name in (WINDOW_START, WINDOW_END))
    return starts, ends
