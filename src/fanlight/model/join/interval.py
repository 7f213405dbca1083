"""Interval joins: rows match that are so far apart in time, and no further."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from fanlight.errors import SpecError
from fanlight.model.continuation import OP
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.kept import kept_told
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side, Stamp
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.later import LATER
from fanlight.model.preparation import Where
from fanlight.model.retention import Retention
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy

Closed = Literal["both", "left", "right", "neither"]

FARTHEST = Duration(LATEST - EARLIEST)
"""How far apart times can be: the bound of an interval without one whose rows are kept for ever."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A right row matches a left one if `left.time + lower <= right.time <= left.time + upper`.

    left         ●
    right   ──[──┴─────────]──      lower below zero, upper above
            lower        upper

    >>> interval("0 s", "5 min", closed="left").closed
    'left'
    """

    lower: Duration
    upper: Duration
    closed: Closed = "both"
    """Which of the two bounds are inside."""

    def __post_init__(self) -> None:
        if self.closed not in ("both", "left", "right", "neither"):
            raise SpecError(
                f"interval: `closed` ({self.closed!r}) must be 'both', 'left', 'right' or 'neither': which bounds are "
                "inside."
            )
        for word, bound, is_open in (("lower", self.lower, self.opens), ("upper", self.upper, self.is_endless)):
            if abs(bound.micros) > FARTHEST.micros and not is_open:
                raise SpecError(
                    f"interval: `{word}` ({bound}) is further than times can be apart. Say how far apart rows may be, "
                    "as in interval('-10 s', '5 min'), or 'forever'."
                )
        if self.least > self.most:
            raise SpecError(
                f"interval: no time lies from `lower` ({self.lower}) to `upper` ({self.upper}) with "
                f"closed={self.closed!r}, so nothing would ever match. The lower bound comes first."
            )

    @property
    def opens(self) -> bool:
        """Whether it has no lower bound."""
        return self.lower.micros == -Duration.FOREVER.micros

    @property
    def is_endless(self) -> bool:
        """Whether it has no upper bound."""
        return self.upper.is_forever

    def within(self, retention: Retention | None) -> Interval:
        """The interval with both bounds: `retention` takes the place of one that is missing."""
        if not (self.opens or self.is_endless):
            if retention is not None:
                raise SpecError(
                    f"join: `retention` says how long rows are kept where an interval has no end, and {self} has both. "
                    "Leave it out."
                )
            return self
        if retention is None:
            word, bound = ("lower", self.lower) if self.opens else ("upper", self.upper)
            raise SpecError(
                f"interval: `{word}` ({bound}) is no bound, so rows of a side would be kept for ever. Say how far "
                "apart rows may be, as in interval('-10 s', '5 min'), or how long they are kept, as in "
                "join(…, retention=retention('1 h'))."
            )
        if retention.count is not None or retention.messages:
            raise SpecError("join: rows are kept by time, not by count or as messages. Use retention('1 h').")
        kept = min(retention.time.micros, FARTHEST.micros)
        lower = Duration(-kept) if self.opens else self.lower
        return Interval(lower, Duration(kept) if self.is_endless else self.upper, self.closed)

    @property
    def least(self) -> int:
        """The least distance from the left row to the right one, in microseconds, inside."""
        return self.lower.micros + (self.closed in ("right", "neither"))

    @property
    def most(self) -> int:
        """The greatest distance, inside."""
        return self.upper.micros - (self.closed in ("left", "neither"))

    def __str__(self) -> str:
        return self.told("left", "right")

    def told(self, left: str, right: str) -> str:
        """It in words, of two sides that are called so."""
        opens, closes = (
            ("[" if self.closed in ("both", "left") else "("),
            ("]" if self.closed in ("both", "right") else ")"),
        )
        lower, upper = (
            "forever" if abs(bound.micros) >= FARTHEST.micros else bound for bound in (self.lower, self.upper)
        )
        return f"{right} time from {left} time in {opens}{'-' * (lower == 'forever')}{lower}, {upper}{closes}"


def interval(lower: DurationLike, upper: DurationLike, closed: Closed = "both") -> Interval:
    """Rows match that are so far apart in time: the right one from `lower` to `upper` after the left one.

    With '-forever' or 'forever' it has no end on that side, and the join says with `retention` how long rows are kept.

    >>> interval("-10 s", "5 min").most
    300000000
    """
    return Interval(Duration.of(lower), Duration.of(upper), closed)


def same_time() -> Interval:
    """Rows match that have the same time.

    >>> same_time().least, same_time().most
    (0, 0)
    """
    return Interval(ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec(SpreadJoinSpec):
    """The declaration of an interval join: two inputs, what matches, which rows leave, and when.

    >>> import fanlight as fl
    >>> orders, paid = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "p"))
    >>> orders.join(paid, fl.interval("0 s", "5 min"), on="id").spec.how
    <JoinType.INNER: 'inner'>
    """

    left: Side
    right: Side
    match: Interval
    how: JoinType = JoinType.INNER
    mode: EmissionMode = EmissionMode.EAGER
    where: Where | None = None
    lateness: Duration = ZERO
    stamp: Stamp | None = "left"
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""
    semantics: JoinSemantics = field(default=JoinSemantics(), metadata=LATER)
    """The answers to what peers disagree on."""
    spread: Duration | None = field(default=None, metadata=LATER)

    stamps: ClassVar[tuple[Stamp, ...]] = ("left", "right", "least", "greatest")
    takes_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.require_sides()
        self.match.within(None)
        self.require_spread()
        if self.semantics.takes_late and self.mode is not EmissionMode.EAGER:
            raise SpecError(
                f"join: rows leave {self.mode.value}, and these answers take records that come behind the watermark, "
                "which may match rows that are not kept any more. Use eager(), or other answers."
            )
        if self.mode is EmissionMode.EAGER and self.changes is not None:
            name = next(side.name for side in (self.left, self.right) if side.changes is not None)
            raise SpecError(
                f"join: {name!r} has changes, which may take back a row whose pairs have left, and eager rows are "
                "never taken back. Use on_close(), which waits for what is left, or retracting(), which takes pairs "
                "back."
            )

    @property
    def is_retracting(self) -> bool:
        """Whether its rows are kept up to date: they leave at once, and are taken back."""
        return self.mode is EmissionMode.RETRACTING

    @property
    def fires_once(self) -> bool:
        """Whether what leaves is never taken back."""
        return not self.is_retracting

    @property
    def op(self) -> str | None:
        """The column of the result that says what a row does, where rows are taken back."""
        return OP if self.is_retracting else None

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row waits as long as its match may come."""
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        return max(watermark - self._waits - self.lateness.micros, START_OF_TIME)

    @property
    def _waits(self) -> int:
        """How far behind the watermark the time of a row may be when it leaves, but for lateness.

        On close a pair waits for its left row, also where it has the time of the right one.
        """
        left, right = max(self.match.most, 0), max(-self.match.least, 0)
        closes = self.mode is EmissionMode.ON_CLOSE
        of_pair = {"left": left, "right": left - self.match.least if closes else right}
        of_pair["least"] = max(of_pair.values())
        # the second row of a pair has not been passed when it comes
        of_pair["greatest"] = min(of_pair["left"], of_pair["right"]) if closes else 0
        alone = [left] * self.how.pads_left + [right] * self.how.pads_right
        return max(of_pair[self.stamp or "least"], *alone, 0)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        grows = self.match.upper.micros - self.match.lower.micros >= FARTHEST.micros
        keeps = "rows until the input ends: what is kept grows with the stream" if grows else kept_told(self)
        when = {
            EmissionMode.EAGER: "a pair as soon as both rows are here",
            EmissionMode.ON_CLOSE: "a row when nothing can match it any more, in the order of the left rows",
            EmissionMode.RETRACTING: "a row at once; takes it back when it is no row of the join any more",
        }[self.mode]
        pads = "; a row without a match when none can come any more" if self.mode is EmissionMode.EAGER else ""
        condition = () if self.where is None else (("condition", self.where.told),)
        gives = (("gives", f"joined rows, with `{OP}` one of +I, -D"),) if self.is_retracting else ()
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", str(self.match)),
            *condition,
            ("fires", f"{when}{pads if self.how is not JoinType.INNER else ''}"),
            *((("late", "a record behind the watermark joins what is kept"),) if self.semantics.takes_late else ()),
            *gives,
            *self.spread_told,
            ("keeps", keeps),
        )
