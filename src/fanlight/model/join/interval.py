"""Interval joins: rows match that are so far apart in time, and no further."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Where
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME, Timestamp
from fanlight.model.time.watermarks import Explicit, WatermarkStrategy

Closed = Literal["both", "left", "right", "neither"]

MODES = (EmissionMode.EAGER, EmissionMode.ON_CLOSE)
"""When rows of an interval join can leave."""


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
        for word, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound.is_forever or abs(bound.micros) > LATEST - EARLIEST:
                raise SpecError(
                    f"interval: `{word}` ({bound}) is no bound, so rows of the other side would be kept for ever. "
                    "Say how far apart rows may be, as in interval('-10 s', '5 min')."
                )
        if self.least > self.most:
            raise SpecError(
                f"interval: no time lies from `lower` ({self.lower}) to `upper` ({self.upper}) with "
                f"closed={self.closed!r}, so nothing would ever match. The lower bound comes first."
            )

    @property
    def least(self) -> int:
        """The least distance from the left row to the right one, in microseconds, inside."""
        return self.lower.micros + (self.closed in ("right", "neither"))

    @property
    def most(self) -> int:
        """The greatest distance, inside."""
        return self.upper.micros - (self.closed in ("left", "neither"))

    def __str__(self) -> str:
        opens, closes = (
            ("[" if self.closed in ("both", "left") else "("),
            ("]" if self.closed in ("both", "right") else ")"),
        )
        return f"right time from left time in {opens}{self.lower}, {self.upper}{closes}"


def interval(lower: DurationLike, upper: DurationLike, closed: Closed = "both") -> Interval:
    """Rows match that are so far apart in time: the right one from `lower` to `upper` after the left one.

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
class IntervalJoinSpec(JoinSpec):
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
    stamp: Literal["left", "right"] | None = "left"
    watermark: WatermarkStrategy = field(default_factory=Explicit)
    ahead: Duration | None = None
    """How far ahead of the clock a time may be. None: as far as it likes."""

    def __post_init__(self) -> None:
        self.require_sides()
        if self.mode not in MODES:
            raise SpecError(
                f"join: joined rows are not kept up to date yet ({self.mode.value}). Use eager or on_close."
            )

    def hands_on(self, watermark: Timestamp) -> Timestamp:
        """The watermark of its rows: a row waits as long as its match may come.

        On close a pair waits for its left row, also where it has the time of the right one.
        """
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        least, most = self.match.least, self.match.most
        waits = max(most, 0)
        if self.stamp == "right":
            waits = max(-least, 0) if self.mode is EmissionMode.EAGER else waits - least
        return max(watermark - waits - self.lateness.micros, START_OF_TIME)

    @property
    def told(self) -> tuple[tuple[str, str], ...]:
        """What `explain` says of it besides its keys, its time and its watermark."""
        kept = Duration(self.match.upper.micros - self.match.lower.micros)
        when = {
            EmissionMode.EAGER: "a pair as soon as both rows are here",
            EmissionMode.ON_CLOSE: "a row when nothing can match it any more, in the order of the left rows",
        }[self.mode]
        pads = "; a row without a match when none can come any more" if self.mode is EmissionMode.EAGER else ""
        condition = () if self.where is None else (("condition", self.where.told),)
        return (
            ("joins", f"{self.left.name} with {self.right.name}, {self.how.value}"),
            ("matches", str(self.match)),
            *condition,
            ("fires", f"{when}{pads if self.how is not JoinType.INNER else ''}"),
            ("keeps", f"the rows of both sides for {kept} and the delays: rate × ({kept} + delays)"),
        )
