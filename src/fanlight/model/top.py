"""Top, declared: the lists of rows that windows have fired with become rows again, each with its rank.

windows     a 12:00–13:00 [row, row, row]
top         row, 12:00, 13:00, rank 1
            row, 12:00, 13:00, rank 2
            row, 12:00, 13:00, rank 3
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.aggregates.ranked import TopRows
from fanlight.model.changes import Changes
from fanlight.model.continuation import OP, WINDOW_END, WINDOW_START, Continuation
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy

ROWS = "rows"
"""The column in which windows have the first rows of each pane."""
RANK = "rank"
"""The place of a row among those of its key and window, from 1."""


@dataclass(frozen=True, slots=True)
class TopSpec(StreamSpec):
    """The declaration of a top: the windows that find it. They fire with the first rows of each pane, as a list.

    >>> from fanlight.model.aggregates.ranked import top_order
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> windows = WindowSpec("ts", tumbling("1 h"), ((ROWS, TopRows("record", 3, top_order("price"))),), ("shop",))
    >>> TopSpec(windows, windows.keys).columns
    ('window_start', 'shop', 'rows', 'window_end')
    """

    windows: WindowSpec
    """The stage before."""
    keys: tuple[str, ...] = ()
    """Those of the windows: rows stay where their window was."""
    time: str = WINDOW_START
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    unit: TimeUnit | None = TimeUnit.MICROSECONDS
    ahead: Duration | None = None

    def __post_init__(self) -> None:
        names = [name for name, _ in self.windows.aggregates]
        if names != [ROWS] or not isinstance(self.windows.aggregates[0][1], TopRows):
            raise SpecError(f"top: the windows before it have {', '.join(names)}, and not the rows it takes apart.")
        if self.keys != self.windows.keys:
            raise SpecError(f"top: its keys ({', '.join(self.keys)}) are not those of the windows before it.")

    @property
    def first(self) -> TopRows:
        """What the windows find: how many rows, and in which order."""
        found = self.windows.aggregates[0][1]
        assert isinstance(found, TopRows)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read: those of a firing."""
        op = (OP,) if self.replaces else ()
        return tuple(dict.fromkeys([self.time, *self.keys, ROWS, WINDOW_END, *op]))

    @property
    def whole_records(self) -> tuple[str, ...]:
        """The lists of rows."""
        return (ROWS,)

    @property
    def replaces(self) -> bool:
        """Whether a row may take the place of another one that has left."""
        return self.windows.replaces

    @property
    def fires_once(self) -> bool:
        """Whether windows fire once, so that no row is taken back."""
        return self.windows.fires_once

    @property
    def in_one_shard(self) -> bool:
        """Whether the windows are in one place."""
        return self.windows.in_one_shard

    @property
    def unique(self) -> tuple[str, ...]:
        """The columns that tell its rows apart: of a key and a window, each rank has one row."""
        return (*self.keys, WINDOW_START, WINDOW_END, RANK)

    @property
    def continuation(self) -> Continuation:
        """Its rows as a stream, with the time that the records had."""
        windows = self.windows
        if windows.domain is not TimeDomain.EVENT:
            raise SpecError(
                f"top: its rows have the times of their records, and these are not what {windows.domain.value}-time "
                "windows go by, so nobody knows when a row with an earlier time may come. Use windows of event time; "
                "or let top be the last stage."
            )
        if windows.window.span is None:
            raise SpecError(
                f"top: its rows have the times of their records, and {type(windows.window.origin).__name__} windows "
                "have no greatest length, so nobody knows when a row with an earlier time may come. Use tumbling, "
                "hopping, cumulating or sliding windows; or let top be the last stage."
            )
        changes = Changes(OP, self.unique, consistent=True) if self.replaces else None
        return Continuation(windows.time, windows.unit, windows.continuation.lateness, changes, windows.tick)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark less the length of a window: a row may be as old as the start of its window."""
        span = self.windows.window.span
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return START_OF_TIME if span is None else max(watermark - span.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        order = [
            f"`{one.column}`, {'the greatest' if one.descending else 'the least'} first" for one in self.first.order
        ]
        fires, op = "each row once, with its window", ""
        if self.replaces:
            fires, op = "when its window does, the ranks that have changed: +I, -U and +U, -D", f" and `{OP}`"
        return (
            ("order", f"{', then '.join([*order, 'their other columns ascending'])}"),
            ("fires", fires),
            (
                "gives",
                f"the columns that came, `{WINDOW_START}`, `{WINDOW_END}`, `{RANK}` from 1 to {self.first.n}{op}",
            ),
            ("keeps", "nothing: the windows before it do"),
        )
