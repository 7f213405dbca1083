"""The time of a step, also in window numbers."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.ingest.inputs import NO_SIGNAL, Signal


@dataclass(frozen=True, slots=True)
class StepTime:
    """The time of a step: watermark, clock, and the last windows closed and expired, before the step and now."""

    watermark: Timestamp
    clock: Timestamp
    closed_before: int
    closed: int
    expired_before: int
    expired: int
    arrived: int
    """The arrival number of the last record."""
    signal: Signal = NO_SIGNAL
