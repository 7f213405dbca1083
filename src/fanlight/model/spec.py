"""A windowed aggregation, declared: one frozen value that every engine runs the same way."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.counting import Counting, Scope
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.kinds import WindowKind, heeds_earliest_start, is_aligned, overlap_of, read_columns
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, Semantics
from fanlight.model.sessions import Session
from fanlight.model.sliding import Sliding
from fanlight.model.triggers import AfterDelay, AtExpiry, AtWatermark, Every, Never, Trigger
from fanlight.model.watermarks import BoundedDisorder, Several, WatermarkStrategy
from fanlight.model.windows import TimeDomain

RESERVED = ("window", "pane")
"""Result columns that no key and no aggregate may be called."""


MOST_WINDOWS = 10_000_000
"""In how many windows a record may be: each of them is a row that leaves."""
MOST_PANES = 100_000
"""In how many where each of them keeps a state of its own."""


class TimeUnit(Enum):
    """What a whole number in the time column counts."""

    NANOSECONDS = "ns"  # floored to microseconds, as timestamps in them are
    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"


_OF_PEERS = {answers.earliest_start for answers in Semantics.PRESETS.values()}
"""A preset answers for all kinds at once, those too that its answer does not concern."""


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
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    """What whole numbers in the time column count. None: nobody has said, and whole numbers are refused."""
    tick: Duration = Duration(1)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

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
        if self.ahead is not None and self.ahead.micros < 0:
            raise SpecError(
                f"stream: `ahead` ({self.ahead}) is negative; records would be dead letters although they come on "
                "time. Use a duration from 0 up, or None for no limit."
            )
        names = [*self.keys, *(name for name, _ in self.aggregates)]
        for name in names:
            if name in RESERVED:
                raise SpecError(f"agg: {name!r} is a result column of its own. Choose another name.")
            if names.count(name) > 1:
                raise SpecError(f"agg: two result columns are called {name!r}. Choose another name for one.")
        self._check_window()
        self._check_overlap()

    def _check_window(self) -> None:
        """Refuse what this kind of window cannot do."""
        kind, name = self.window, type(self.window).__name__
        if kind.domain is not TimeDomain.EVENT and self.lateness.micros:
            raise SpecError(
                f"window: `lateness` ({self.lateness}) means nothing for {kind.domain.value}-time windows; "
                "no record can come behind it. Leave it out."
            )
        earliest = self.semantics.earliest_start
        if not heeds_earliest_start(kind) and earliest not in _OF_PEERS:
            raise SpecError(
                f"window: `earliest_start` ({earliest}) means nothing for {name} windows; it is for tumbling, hopping, "
                "cumulating, calendar and sliding ones. Leave it out, or filter the records by their time."
            )
        by_watermark = any(isinstance(part, Every) and part.domain is TimeDomain.EVENT for part in self.trigger.walk())
        if isinstance(kind, Counting) and kind.per is Scope.KEY and by_watermark:
            raise SpecError(
                "trigger: `every` in the event domain follows a watermark, and keys that each count their own records "
                "have none in common. Use every(...) of the clock, or after(...)."
            )
        holds_together = isinstance(kind, Sliding) or (isinstance(kind, Session) and kind.has_limits)
        if holds_together and self.accumulation is Accumulation.DISCARDING and not self.fires_once:
            raise SpecError(
                f"accumulation: `discarding` means nothing for {name} windows; a record belongs to windows that come "
                "and go with other records, so what a firing left over has no owner. Use accumulating or retracting."
            )
        if self.message_retention and not is_aligned(kind):
            raise SpecError(
                f"window: `retention` with messages is for windows that all keys share; each key has its own {name} "
                "windows. Leave `messages` out, or collect them with list(...)."
            )

    def _check_overlap(self) -> None:
        """Refuse windows that overlap more than a machine can hold."""
        overlap, most = overlap_of(self.window), MOST_PANES if self.keeps_panes else MOST_WINDOWS
        if overlap > most:
            patient = (
                " Or fire at the watermark only, without early results or retractions." if self.keeps_panes else ""
            )
            raise SpecError(
                f"window: each record would be in {overlap:,} windows that overlap, and the most is {most:,}. "
                f"Let windows start less often, or make them shorter.{patient}"
            )

    @property
    def in_processing_time(self) -> bool:
        """Whether records are windowed by the clock at their arrival."""
        return self.window.domain is TimeDomain.PROCESSING

    @property
    def in_arrival_order(self) -> bool:
        """Whether records are windowed by their position in the stream."""
        return self.window.domain is TimeDomain.ARRIVAL

    @property
    def position(self) -> str | None:
        """The column that has the positions of records, if they are not counted as they arrive."""
        return self.window.by if isinstance(self.window, Counting) else None

    @property
    def closes_strictly(self) -> bool:
        """Whether a window is still open when the watermark is at its end."""
        return self._strictly(self.semantics.closes_after_end)

    @property
    def expires_strictly(self) -> bool:
        """Whether a window has not yet expired when the watermark is at its end plus lateness."""
        return self._strictly(self.semantics.expires_after_horizon)

    def _strictly(self, said: bool) -> bool:
        """Windows over positions are full when their last position has come, whatever is said of time."""
        if isinstance(self.window, Counting):
            return False
        return said or (isinstance(self.window, Session) and self.semantics.session_end_is_inclusive)

    @property
    def has_timers(self) -> bool:
        """Whether time alone can make a pane fire before its window closes, or after."""
        return any(isinstance(part, AfterDelay | Every) for part in self.trigger.walk())

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
                return self.lateness.micros == 0 and self.closes_strictly == self.expires_strictly
        return False

    @property
    def keeps_panes(self) -> bool:
        """Whether every pane has a state of its own, besides the records or slices it is made of.

        Not where it fires once. Nor where windows that all keys share fire at the close and at every late update, each
        time with all they hold: then their slices tell what a pane holds, and that it has fired.
        """
        if self.fires_once:
            return _publishes_late(self.watermark)
        says_all = self.accumulation is Accumulation.ACCUMULATING and not self.updated_only
        stamps_all = self.firing_time is FiringTime.END or not self.semantics.holds
        ends_quietly = self.semantics.closing is not Closing.ALWAYS
        by_default = self.trigger == AtWatermark() and not _judges_each(self.watermark)
        return not (by_default and says_all and stamps_all and ends_quietly)

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
        """The input columns that are read: the time, the keys, what the window and the aggregates work on."""
        worked_on = (column for _, aggregate in self.aggregates for column in aggregate.columns)
        time = [self.time] if self.window.domain is TimeDomain.EVENT else []
        used = [*time, *self.keys, *read_columns(self.window), *worked_on]
        return tuple(dict.fromkeys(used))


def _judges_each(strategy: WatermarkStrategy) -> bool:
    """Whether each record of a bundle is judged by a watermark of its own.

    A record may then be too late for a window that another one of its bundle still corrects.
    """
    each = [one for _, one in strategy.inputs] if isinstance(strategy, Several) else [strategy]
    return any(isinstance(one, BoundedDisorder) and one.per_record for one in each)


def _publishes_late(strategy: WatermarkStrategy) -> bool:
    """Whether records are judged by a watermark that windows will only see later.

    A record may then be too late for a window that has not fired yet, and slices cannot tell the two apart.
    """
    return isinstance(strategy, BoundedDisorder) and strategy.per_record and strategy.every is not None
