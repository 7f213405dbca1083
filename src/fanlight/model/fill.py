"""Fill, declared: windows in which nothing came get a row too, between the first and the newest window of a key.

came       [ 3 ]     [   ]     [   ]     [ 9 ]
null         3        null      null       9
last         3         3         3         9
linear       3         5         7         9
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.continuation import WINDOW_END, WINDOW_START, Continuation
from fanlight.model.firing import FiringTime
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.tumbling import Tumbling

MOST_FILLED = 100_000
"""How many windows a gap may have at most, and be filled."""


class FillWith(Enum):
    """What stands in a window in which nothing came."""

    NULL = "null"
    """Null."""
    LAST = "last"
    """The values of the window before the gap."""
    LINEAR = "linear"
    """Numbers on the line between the windows before and after the gap."""


@dataclass(frozen=True, slots=True)
class FillSpec(StreamSpec):
    """The declaration of filling: the windows whose gaps are filled, with what, and how long a gap may be.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> windows = WindowSpec("ts", tumbling("1 h"), (("n", count()),), ("shop",))
    >>> FillSpec(windows, FillWith.LAST, keys=windows.keys).columns
    ('window_start', 'shop', 'window_end', 'n')
    """

    windows: WindowSpec
    """The stage before."""
    how: FillWith
    longest: Duration | None = None
    """How far apart the ends of the windows around a gap may be. None: any gap of up to 100,000 windows is filled."""
    keys: tuple[str, ...] = ()
    """Those of the windows: rows stay where their window was."""
    time: str = WINDOW_START
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    ahead: Duration | None = None

    def __post_init__(self) -> None:
        kind = self.windows.window.origin
        if not isinstance(kind, Tumbling | Hopping | Calendar) or kind.bounds_domain is TimeDomain.ARRIVAL:
            raise SpecError(
                f"fill: {type(kind).__name__} windows do not follow one another at known times, so nobody knows which "
                "are missing. Use tumbling, hopping or calendar windows."
            )
        if not self.windows.fires_once:
            raise SpecError(
                "fill: the windows before it fire more than once, and a late record may open a window whose place is "
                "filled already. Let them fire once, when they are final: without lateness and without early firings, "
                "or with trigger(at_expiry())."
            )
        if self.windows.firing_time is not FiringTime.END:
            raise SpecError(
                f"fill: results are stamped with their {self.windows.firing_time.value} record, and a window in which "
                "nothing came has none. Say stamped('end')."
            )
        if self.keys != self.windows.keys:
            raise SpecError(f"fill: its keys ({', '.join(self.keys)}) are not those of the windows before it.")
        for name in (*self.keys, *self.filled):
            if name in (WINDOW_START, WINDOW_END):
                raise SpecError(f"fill: the stage before has a column {name!r}, which means something here. Rename it.")
        if self.longest is not None and self.longest.micros < 1:
            raise SpecError(
                f"fill: `longest` ({self.longest}) must be above zero, or no gap is filled. "
                "Use the longest silence after which a key is still the same, such as '1 day'."
            )

    @property
    def filled(self) -> tuple[str, ...]:
        """The columns that are filled: the aggregates."""
        return tuple(name for name, _ in self.windows.aggregates)

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: those of a firing."""
        return tuple(dict.fromkeys([self.time, *self.keys, WINDOW_END, *self.filled]))

    @property
    def in_one_shard(self) -> bool:
        """Whether the windows are in one place."""
        return self.windows.in_one_shard

    @property
    def continuation(self) -> Continuation:
        """Its rows as a stream: like those of the windows."""
        return self.windows.continuation

    @property
    def reach(self) -> int | None:
        """How far behind the newest window of a key a filled one may be; None if nobody knows."""
        if self.longest is not None and not self.longest.is_forever:
            return self.longest.micros
        kind = self.windows.window.origin
        match kind:
            case Tumbling(size=every) | Hopping(every=every):
                return (MOST_FILLED + 1) * every.micros
        return None

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark less the longest gap: a filled window leaves with the next one of its key, and not before."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return START_OF_TIME if self.reach is None else max(watermark - self.reach, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        values = {
            FillWith.NULL: "null",
            FillWith.LAST: "the values of the window before",
            FillWith.LINEAR: "values on the line between the windows around it",
        }[self.how]
        longest = f"{MOST_FILLED:,} windows" if self.longest is None else str(self.longest)
        kept = "for ever: say longest=… to forget it" if self.longest is None else f"until it is {self.longest} old"
        return (
            ("fires", "each window as it comes; the missing ones before it, with the next window of their key"),
            ("gives", f"the columns that came; where nothing came {values}, in gaps of up to {longest}"),
            ("keeps", f"the newest window of each key, {kept}"),
        )
