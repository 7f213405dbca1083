"""Matches: how far apart in time the rows of two streams may be that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fanlight.errors import SpecError
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST, LATEST

Closed = Literal["both", "left", "right", "neither"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A right row matches a left one if `left.time + lower <= right.time <= left.time + upper`.

    left         ●
    right   ──[──┴─────────]──      lower below zero, upper above
            lower        upper
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
