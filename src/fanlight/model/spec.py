"""A windowed aggregation, declared: one frozen value that every engine runs the same way."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP, RECORD, WINDOW_END, WINDOW_START, WINDOW_TIME, Continuation
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.later import LATER
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, LateBy, Semantics
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several, WatermarkStrategy
from fanlight.model.triggers import AfterDelay, AtExpiry, AtWatermark, Every, Never, OnSignal, Trigger
from fanlight.model.windows.kind import WindowKind

RESERVED = ("window", "pane")
"""Result columns that no key and no aggregate may be called."""


MOST_WINDOWS = 10_000_000
"""In how many windows a record may be: each of them is a row that leaves."""
MOST_PANES = 100_000
"""In how many where each of them keeps a state of its own."""


@dataclass(frozen=True, slots=True)
class WindowSpec(StreamSpec):
    """The declaration of a windowed aggregation: its input, windows, aggregates and trigger.

    >>> import fanlight as fl
    >>> counts = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min"), lateness="1 h").agg(n=fl.count())
    >>> counts.spec.lateness
    Duration('1 h')
    """

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
    changes: Changes | None = field(default=None, metadata=LATER)
    """How records change earlier ones. None: every record is a row of its own."""

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
        for told in self.window.refusals(self):
            raise SpecError(told)
        self._check_overlap()
        for name, aggregate in self.aggregates:
            if aggregate.needs_complete_panes and not self.fires_once:
                raise SpecError(
                    f"agg: {name} is computed of the complete rows of a pane, and these panes fire more than once. "
                    "Leave out lateness, early and late firings; or let late records in and fire once, when they are "
                    "all there, with trigger(at_expiry())."
                )

    def _check_overlap(self) -> None:
        """Refuse windows that overlap so much that no machine could hold them."""
        overlap, most = self.window.overlap, MOST_PANES if self.keeps_panes else MOST_WINDOWS
        if overlap > most:
            patient = (
                " Or fire at the watermark only, without early results or retractions." if self.keeps_panes else ""
            )
            raise SpecError(
                f"window: each record would be in {overlap:,} windows that overlap, and the most is {most:,}. "
                f"Let windows start less often, or make them shorter.{patient}"
            )

    @property
    def continuation(self) -> Continuation:
        """Its firings as a stream, by `window_time`; `op` says what each does, where one takes another's place."""
        for told in self.window.refusals_onward(self):
            raise SpecError(told)
        replaces = self.replaces
        for name in (*self.keys, *(name for name, _ in self.aggregates)):
            if name in (WINDOW_START, WINDOW_END, WINDOW_TIME) or (replaces and name == OP):
                raise SpecError(
                    f"agg: the stage before has a column {name!r}, which its results get as a stream. Rename it."
                )
        changes = self.as_changes() if replaces else None
        return Continuation(WINDOW_TIME, None, self._lateness_onward, changes, self.tick)

    @property
    def replaces(self) -> bool:
        """Whether a firing takes the place of the one before it."""
        return not self.fires_once and self.accumulation is not Accumulation.DISCARDING

    @property
    def _lateness_onward(self) -> Duration:
        """How far behind the watermark that is handed on a firing may be."""
        if self.fires_once or self.lateness.is_forever:
            return Duration(0) if self.fires_once else self.lateness
        # closed when the watermark is at its end, but expired only when it is past it: a correction may come in between
        return Duration(self.lateness.micros + (self.expires_strictly and not self.closes_strictly))

    def as_changes(self) -> Changes:
        """Its firings as changes. A window has one row, and one time unless its records stamp it.

        Only what is taken back as it was shown can be taken back without a look at what it was.
        """
        timed = self.firing_time is FiringTime.END
        as_shown = not any(aggregate.retracts_otherwise for _, aggregate in self.aggregates)
        consistent = timed and as_shown and self.accumulation is Accumulation.RETRACTING
        return Changes(OP, (*self.keys, WINDOW_START, WINDOW_END), consistent=consistent, timed=timed)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its firings: every window that has not fired by then ends, and so has its time, after it.

        Windows that fire when they expire hand on less by their lateness; those that are stamped with one of their
        records less by their length.
        """
        waits = isinstance(self.trigger, AtExpiry | Never)
        if waits and self.lateness.is_forever:  # at the end of time it has not fired either
            return START_OF_TIME
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        held = self.tick.micros - 1 + (self.expires_strictly if waits else self.closes_strictly)
        if waits:
            held += self.lateness.micros
        if self.firing_time is not FiringTime.END and self.window.span is not None:
            held += self.window.span.micros
        return max(watermark - held, START_OF_TIME)

    @property
    def domain(self) -> TimeDomain:
        """What the times of records are: event times, the clock at their arrival, or positions."""
        return self.window.domain

    @property
    def starts_by_clock(self) -> bool:
        """Whether a record that comes by the clock starts a window of its own."""
        return self.window.starts_by_clock

    @property
    def clock_instant(self) -> Duration:
        """By how much the clock's own instant counts as over."""
        return self.tick if self.semantics.clock_instant_is_over else Duration(0)

    @property
    def needs_clock(self) -> bool:
        """Whether the clock alone can make a pane fire."""
        return self.in_processing_time or any(
            isinstance(part, AfterDelay) or (isinstance(part, Every) and part.domain is TimeDomain.PROCESSING)
            for part in self.trigger.walk()
        )

    @property
    def waits_for_signal(self) -> bool:
        """Whether the caller's signal can make a pane fire."""
        return any(isinstance(part, OnSignal) for part in self.trigger.walk())

    @property
    def in_one_shard(self) -> bool:
        """Whether records of all keys must meet in one place, as where they are numbered as they arrive."""
        return self.window.spans_keys or not self.keys

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns that all rows would say alike: that of the pane, where each fires once."""
        return ("pane",) if self.fires_once else ()

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
        return self.window.position

    @property
    def closes_strictly(self) -> bool:
        """Whether a window is still open when the watermark is at its end."""
        return self.window.is_strict(self.semantics, said=self.semantics.closes_after_end)

    @property
    def expires_strictly(self) -> bool:
        """Whether a window has not yet expired when the watermark is at its end plus lateness."""
        return self.window.is_strict(self.semantics, said=self.semantics.expires_after_horizon)

    @property
    def late_by(self) -> LateBy:
        """What is judged when a record comes late."""
        return self.window.late_by(self.semantics)

    @property
    def has_timers(self) -> bool:
        """Whether time alone can make a pane fire before its window closes, or after."""
        return any(isinstance(part, AfterDelay | Every) for part in self.trigger.walk())

    @property
    def has_event_timers(self) -> bool:
        """Whether the trigger follows the watermark within a window, and so asks for the times of what came."""
        return any(isinstance(part, Every) and part.domain is TimeDomain.EVENT for part in self.trigger.walk())

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
        time with all they hold: then their slices tell what a pane holds, and that it has fired. But where changes come
        they may empty a pane, and it must know what it has shown.
        """
        if self.fires_once:
            return _publishes_late(self.watermark)
        if self.changes is not None:
            return True
        says_all = self.accumulation is Accumulation.ACCUMULATING and not self.updated_only
        stamps_all = self.firing_time is FiringTime.END or not self.semantics.holds
        ends_quietly = self.semantics.closing is not Closing.ALWAYS
        by_default = self.trigger == AtWatermark() and not _judges_each(self.watermark)
        return not (by_default and says_all and stamps_all and ends_quietly)

    @property
    def keeps_rows_for(self) -> Duration:
        """How long after its time, by the watermark, a record may still matter to a window; for ever if none says."""
        span = self.window.span
        if span is None or self.lateness.is_forever:
            return Duration.FOREVER
        return Duration(span.micros + self.lateness.micros)

    @property
    def needs_messages(self) -> bool:
        """Whether the records themselves are kept."""
        return self.message_retention or any(aggregate.needs_messages for _, aggregate in self.aggregates)

    @property
    def heeds_arrival(self) -> bool:
        """Whether the order in which records came matters to an aggregate."""
        return any(aggregate.heeds_arrival for _, aggregate in self.aggregates)

    @property
    def message_retention(self) -> bool:
        """Whether the records stay readable with their windows."""
        return self.retention is not None and self.retention.messages

    @property
    def offsets(self) -> str | None:
        """The column that has the offsets of records, where they are kept with the messages."""
        return None if self.retention is None else self.retention.offsets

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the time, the keys, what the window and the aggregates work on."""
        worked_on = (column for _, aggregate in self.aggregates for column in aggregate.columns)
        changed: tuple[str, ...] = ()
        if self.changes is not None:  # which of two equal values came first is known by what tells their rows apart
            changed = (self.changes.op, *(self.changes.unique if self.heeds_arrival else ()))
        kept = () if self.offsets is None else (self.offsets,)
        used = [*self.window.time_columns(self.time), *self.keys, *self.window.columns, *worked_on, *changed, *kept]
        return tuple(dict.fromkeys(used))

    @property
    def whole_records(self) -> tuple[str, ...]:
        """The column of whole records, where an aggregate works on them."""
        return (RECORD,) if any(RECORD in aggregate.columns for _, aggregate in self.aggregates) else ()


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
