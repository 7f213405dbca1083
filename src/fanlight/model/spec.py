"""A windowed aggregation, declared: one frozen value that every engine runs the same way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, Semantics
from fanlight.model.triggers import AtExpiry, AtWatermark, Never, Trigger
from fanlight.model.watermarks import BoundedDisorder, WatermarkStrategy
from fanlight.model.windows import TimeDomain, WindowKind

RESERVED = ("window", "pane")
"""Result columns that no key and no aggregate may be called."""


class TimeUnit(Enum):
    """What a whole number in the time column counts."""

    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Which records, which windows, which values, and when they leave."""

    time: str
    window: WindowKind
    aggregates: tuple[tuple[str, Aggregate], ...]
    keys: tuple[str, ...] = ()
    trigger: Trigger = field(default_factory=AtWatermark)
    accumulation: Accumulation = Accumulation.ACCUMULATING
    updated_only: bool = False
    lateness: Duration = Duration(0)
    retention: Retention | None = None
    watermark: WatermarkStrategy = field(default_factory=lambda: BoundedDisorder(Duration(0)))
    semantics: Semantics = field(default_factory=Semantics)
    firing_time: FiringTime = FiringTime.END
    unit: TimeUnit = TimeUnit.MICROSECONDS
    tick: Duration = Duration(1)

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise SpecError("agg: needs at least one aggregate. Name one, as in agg(n=count()).")
        if self.lateness.micros < 0:
            raise SpecError(
                f"window: `lateness` ({self.lateness}) is negative; records would expire before their window closes. "
                "Use a duration from 0 up."
            )
        if self.tick.micros < 1:
            raise SpecError(f"stream: `tick` ({self.tick}) must be at least 1 us.")
        names = [*self.keys, *(name for name, _ in self.aggregates)]
        for name in names:
            if name in RESERVED:
                raise SpecError(f"agg: {name!r} is a result column of its own. Choose another name.")
            if names.count(name) > 1:
                raise SpecError(f"agg: two result columns are called {name!r}. Choose another name for one.")
        if self.in_processing_time and self.lateness.micros:
            raise SpecError(
                f"window: `lateness` ({self.lateness}) means nothing for processing-time windows; "
                "no record can come behind the clock. Leave it out."
            )

    @property
    def in_processing_time(self) -> bool:
        """Whether records are windowed by the clock at their arrival."""
        return self.window.domain is TimeDomain.PROCESSING

    @property
    def fires_once(self) -> bool:
        """Whether a pane fires at most once, when its window expires.

        True for the watermark trigger without lateness, and for triggers that wait for expiry. Such panes need
        no trigger state: their slices are all there is.
        """
        if self.semantics.closing is Closing.ALWAYS:
            return False
        match self.trigger:
            case AtExpiry():
                return True
            case Never():
                return self.semantics.closing is Closing.IF_NEW
            case AtWatermark(early=None):
                closes_as_it_expires = self.semantics.closes_after_end == self.semantics.expires_after_horizon
                return self.lateness.micros == 0 and closes_as_it_expires
        return False

    @property
    def needs_messages(self) -> bool:
        """Whether the records themselves are kept."""
        return self.message_retention or any(aggregate.needs_messages for _, aggregate in self.aggregates)

    @property
    def message_retention(self) -> bool:
        """Whether the records stay readable with their windows."""
        return self.retention is not None and self.retention.messages

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys, what the aggregates work on."""
        used = [self.time, *self.keys, *(a.column for _, a in self.aggregates if a.column is not None)]
        return tuple(dict.fromkeys(used))
