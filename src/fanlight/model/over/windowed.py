"""Over inside windows, declared: each row of a window comes back with new columns, when the window has expired.

The windows gather whole records; what follows them looks over each (key, window) by itself, when all of it is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.composed import Composite
from fanlight.model.continuation import WINDOW_END, WINDOW_START, Continuation
from fanlight.model.over.frame import Frame, RangeFrame, SessionFrame
from fanlight.model.over.functions import RowFunction
from fanlight.model.over.spec import Computed, OrderBy, require_computed, within
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy
from fanlight.model.windows.kind import WindowKind

BOUNDS = (WINDOW_START, WINDOW_END)
"""The columns that say the window of a row."""


@dataclass(frozen=True, slots=True)
class WindowedOverSpec(StreamSpec):
    """The declaration of what follows windows that have gathered whole records: the order of each, the new columns."""

    window: WindowKind
    computed: tuple[tuple[str, Frame, RowFunction | Aggregate], ...]
    """The new columns: name, frame, function."""
    rows: str
    """The column that has the records of a window, as a list."""
    record_time: str
    """The event time of each of them, which is that of the row that leaves."""
    record_unit: TimeUnit | None = None
    keys: tuple[str, ...] = ()
    order: tuple[OrderBy, ...] = ()
    """The columns that order a partition; equal rows are peers. Empty: by time, or by position."""
    tick: Duration = Duration(1)
    time: str = WINDOW_START
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    ahead: Duration | None = None

    def __post_init__(self) -> None:
        if not self.computed:
            raise SpecError("over: nothing is computed. Say what, as in window(…).over().add(place=rank()).")
        for name in (names := [one.name for one in self.new_columns]):
            if names.count(name) > 1:
                raise SpecError(f"over: two new columns are called {name!r}. Give one of them another name.")
            if name in BOUNDS:
                raise SpecError(f"over: {name!r} is a column of its own here. Give the new column another name.")
        for name in (*self.keys, self.record_time):
            if name in BOUNDS:
                raise SpecError(
                    f"over: the stream goes by a column {name!r}, and here that is the window of a row. Give that "
                    f"column another name, as in select(…, other={name!r})."
                )
        for one in self.new_columns:
            self._check(one)

    @property
    def new_columns(self) -> tuple[Computed, ...]:
        """The new columns."""
        return tuple(Computed(*one) for one in self.computed)

    @property
    def reads_times(self) -> bool:
        """No: what a window says when it is over is taken as it comes."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: the window, the keys, the list of records."""
        return (*BOUNDS, *self.keys, self.rows)

    @property
    def whole_records(self) -> tuple[str, ...]:
        """The lists of records."""
        return (self.rows,)

    @property
    def goes_by_time(self) -> bool:
        """Whether partitions are in the order of event times; otherwise of columns, of positions, of arrival."""
        return not self.order and self.has_times

    @property
    def has_times(self) -> bool:
        """Whether the windows go by the event times of records, so that each has one that can be read."""
        return self.window.domain is TimeDomain.EVENT

    @property
    def continuation(self) -> Continuation:
        """Its rows as a stream, by the time they had; a `SpecError` where nobody knows how far behind they may be."""
        if not self.has_times:
            raise SpecError(
                "over: rows of these windows have the times of their records, which the windows do not go by, so "
                "nobody knows when a row with an earlier time may come. Use windows by event time."
            )
        if self.window.span is None:
            raise SpecError(
                f"over: rows of these {type(self.window).__name__} windows leave when their window is over, and such a "
                "window has no greatest length, so nobody knows when a row with an earlier time may come. Use windows "
                "that have one, as tumbling, hopping and sliding ones have."
            )
        return Continuation(self.record_time, self.record_unit, tick=self.tick)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: that of the windows, less the length of one."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return START_OF_TIME if self.window.span is None else max(watermark - self.window.span.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        by = [f"by `{one.column}`{' descending' if one.descending else ''}" for one in self.order]
        first = {TimeDomain.EVENT: ["by time"], TimeDomain.PROCESSING: [], TimeDomain.ARRIVAL: ["by position"]}
        settled = first[self.window.domain]
        frames = dict.fromkeys(self._framed(one.frame) for one in self.new_columns)
        return (
            ("partitions", "the records of each key and window"),
            ("order", ", then ".join([*by, *settled, "as they came"])),
            ("frames", "; ".join(frames)),
            ("fires", "each row once, when its window has expired"),
            ("gives", f"the columns that came, the window, and {', '.join(one.name for one in self.new_columns)}"),
            ("keeps", "nothing"),
        )

    def _framed(self, frame: Frame) -> str:
        """A frame in words; one that looks at no lengths of time goes by peers."""
        if self.goes_by_time or not isinstance(frame, RangeFrame):
            return str(frame)
        start, end = "the first" if frame.is_unbounded else "its peers", "the last" if frame.is_endless else "its peers"
        return f"the rows from {start} to {end}{', without the row itself' if frame.excludes_current else ''}"

    def _check(self, one: Computed) -> None:
        require_computed(one)
        if self.order and isinstance(one.function, Composite) and one.function.needs_complete_panes:
            raise SpecError(
                f"over: {one.name} has a function of complete rows among others that go by time, and these partitions "
                "are in another order. Add the function by itself, as in add(found=batch(…))."
            )
        by_length = isinstance(one.frame, SessionFrame) or (isinstance(one.frame, RangeFrame) and one.frame.has_lengths)
        if (by_length or within(one.function) is not None) and not self.goes_by_time:
            raise SpecError(
                f"over: {one.name} looks at how far times are apart, and these partitions are not in the order of "
                "event times. Leave `order` out, or use a frame of rows, as in rows(3)."
            )
