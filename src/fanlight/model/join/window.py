"""Joins by window: rows match that are in the same window."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.continuation import WINDOW_TIME, Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.later import LATER
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy
from fanlight.model.windows.counting import Counting, Scope
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
        if self.counting is not None:
            self._require_own_counts(self.counting)
            return
        name = type(self.window).__name__
        if self.window.bounds_domain is not TimeDomain.EVENT or self.window.domain is not TimeDomain.EVENT:
            raise SpecError(
                f"same_window: these {name} windows go by {self.window.bounds_domain.value}, and the two sides of a "
                "join have event times in common, and numbers of their own records. Use windows by event time, or "
                "counting(…)."
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
    def _require_own_counts(kind: Counting) -> None:
        if kind.every != kind.size:
            raise SpecError(
                f"same_window: windows of {kind.size} records that start every {kind.every} overlap, and a join counts "
                f"in windows that follow one another. Use same_window(counting({kind.size}))."
            )
        if kind.per is Scope.STREAM or kind.by is not None:
            told = "by=" if kind.by is not None else "per='stream'"
            raise SpecError(
                f"same_window: each side of a join counts its own records of a key as they come, so {told} says "
                "nothing here. Leave it out; a column that has numbers can be a key on both sides."
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

    @property
    def counting(self) -> Counting | None:
        """The count windows, if each side counts its own records of a key."""
        return self.window if isinstance(self.window, Counting) else None


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
    retention: Retention | None = field(default=None, metadata=LATER)
    """How long a window that counts waits for records, after the latest that it has. None: other windows have ends."""

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
        if self.match.counting is not None:
            self._require_counted()
        elif self.retention is not None:
            raise SpecError(
                "join: `retention` says how long a window that counts waits for records, and the windows of this join "
                "end by their times. Leave it out; lateness=… waits longer for both sides."
            )

    def _require_counted(self) -> None:
        if self.retention is None:
            raise SpecError(
                "join: a window that one side fills would wait for ever for the other, and be kept. Say how long it "
                "waits after its latest record, with join(…, retention=fl.retention('1 h')); or say that you want "
                "that, with retention=fl.retention()."
            )
        if self.retention.count is not None or self.retention.messages:
            raise SpecError("join: rows are kept by time, not by count or as messages. Use retention('1 h').")
        if self.lateness.micros:
            raise SpecError(
                f"join: `lateness` ({self.lateness}) means nothing for windows that count: no record is late for them "
                "by its time. Leave it out, or say lateness='0 s' where a stage before has one."
            )

    @property
    def stamp(self) -> None:  # type: ignore[override]
        """Rows have the time of their window, whichever sides they have."""
        return

    @property
    def continuation(self) -> Continuation:
        """The result as a stream: its time is the last instant of its window."""
        if self.match.counting is not None:
            raise SpecError(
                "join: a window that counts has numbers and no time, so nothing can follow its rows by time. Use "
                "windows by event time, as in same_window(tumbling('1 minute')); or write the rows, and read them "
                "as a stream by a time of theirs."
            )
        return Continuation(WINDOW_TIME)

    @property
    def _gives_up(self) -> str:
        assert self.retention is not None
        waits = self.retention.time
        return "the input ends" if waits.is_forever else f"both sides have passed its latest row by {waits}"

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
        if self.match.counting is not None:
            is_eager = self.mode is EmissionMode.EAGER
            what = "a pair as soon as both rows are here; rows alone in a window" if is_eager else "a window"
            return (
                ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
                ("matches", "rows in windows of the same number, that of each side's own records"),
                *condition,
                ("fires", f"{what} when both sides have filled it, or {self._gives_up}"),
                ("keeps", "the rows of both sides until their window is complete; how many each key has had, for good"),
            )
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
