"""Joins by window: rows match that are in the same window."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.continuation import WINDOW_TIME, Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Where
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session

WINDOW = "window"
"""The column that has the window of a joined row."""
MODES = (EmissionMode.EAGER, EmissionMode.ON_CLOSE)
"""When rows of a window join can leave."""


@dataclass(frozen=True, slots=True)
class SameWindow:
    """Rows match that are in the same window of this kind.

    windows   [───────)[───────)
    left         ●   ●    ●
    right       ●            ●      the first with two left rows, the second with one

    >>> import fanlight as fl
    >>> fl.same_window(fl.tumbling("1 min")).window.size
    Duration('1 min')
    """

    window: WindowKind

    def __post_init__(self) -> None:
        if not isinstance(self.window, WindowKind):
            raise SpecError(
                f"same_window: {self.window!r} is no kind of window. Use one, as in same_window(tumbling('1 minute'))."
            )
        name = type(self.window).__name__
        if self.window.bounds_domain is not TimeDomain.EVENT or self.window.domain is not TimeDomain.EVENT:
            raise SpecError(
                f"same_window: these {name} windows go by {self.window.bounds_domain.value}, and the two sides of a "
                "join have event times in common and nothing else: a window that one side fills would wait for ever "
                "for the other. Use windows by event time."
            )
        if not self.window.has_ends:
            raise SpecError(
                f"same_window: a {name} window never ends, so every row would be kept for ever. Use windows that end, "
                "as in same_window(tumbling('1 hour'))."
            )
        if self.session is not None:
            self._require_gap(self.session)
        elif not self.window.is_aligned:
            raise SpecError(
                f"same_window: each key has its own {name} windows, and so would each side of a join: they have none "
                "in common. Use windows that all keys share, as in same_window(tumbling('1 minute')), or sessions."
            )

    @staticmethod
    def _require_gap(kind: Session) -> None:
        if kind.gap is None or kind.has_limits:
            raise SpecError(
                "same_window: the sessions of a join are made of the records of both sides, which have no column in "
                "common that could say their gap or end them, and are not cut. Give the gap alone, as in "
                "same_window(session('5 min'))."
            )

    @property
    def session(self) -> Session | None:
        """The sessions, if the records of both sides make the windows, key by key."""
        return self.window if isinstance(self.window, Session) else None


def same_window(window: WindowKind) -> SameWindow:
    """Rows match that are in the same window; a pair leaves once for each window that has both.

    >>> import fanlight as fl
    >>> orders = fl.stream([{"ts": 1, "id": 7}], time="ts", unit="s", name="o")
    >>> paid = fl.stream([{"ts": 9, "id": 7, "cents": 5}], time="ts", unit="s", name="p")
    >>> orders.join(paid, fl.same_window(fl.tumbling("10 s")), on="id").table()["cents"].to_pylist()
    [5]
    """
    return SameWindow(window)


@dataclass(frozen=True, slots=True)
class WindowJoinSpec(JoinSpec):
    """The declaration of a join by window: two inputs, the windows, which rows leave, and when.

    >>> import fanlight as fl
    >>> orders, paid = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "p"))
    >>> orders.join(paid, fl.same_window(fl.tumbling("1 min")), on="id").spec.continuation.time
    'window_time'
    """

    left: Side
    right: Side
    match: SameWindow
    how: JoinType = JoinType.INNER
    mode: EmissionMode = EmissionMode.ON_CLOSE
    where: Where | None = None
    lateness: Duration = ZERO
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

    def __post_init__(self) -> None:
        self.require_sides()
        if self.mode not in MODES:
            raise SpecError(
                f"join: rows of a join by window are not kept up to date ({self.mode.value}). Use eager or on_close."
            )
        if self.match.session is not None and not self.left.keys:
            raise SpecError(
                "join: sessions are those of a key, made of the records of both sides, and these sides have no keys. "
                "Say key_by(…) on both with as many columns, or on='id'."
            )
        if self.match.session is not None and self.mode is EmissionMode.EAGER:
            raise SpecError(
                "join: where a session ends is known when it is over, so its pairs cannot leave before. Use on_close."
            )

    @property
    def stamp(self) -> None:  # type: ignore[override]
        """Rows have the time of their window, whichever sides they have."""
        return

    @property
    def continuation(self) -> Continuation:
        """The result as a stream: its time is the last instant of its window."""
        return Continuation(WINDOW_TIME)

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a window that is not complete ends after it."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return max(watermark - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        when = {
            EmissionMode.EAGER: "a pair as soon as both rows are here",
            EmissionMode.ON_CLOSE: "a window when both sides have passed its end, in the order of its left rows",
        }[self.mode]
        pads = "; a row without a match when its window is complete" if self.mode is EmissionMode.EAGER else ""
        condition = () if self.where is None else (("condition", self.where.told),)
        span = self.match.window.span
        kept = "a window" if span is None else str(span)
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", "rows in the same window"),
            *condition,
            ("fires", f"{when}{pads if self.how is not JoinType.INNER else ''}"),
            (
                "keeps",
                f"the rows of both sides, each once, until its last window is complete: rate × ({kept} + delays)",
            ),
        )
