"""Windows that grow in steps until they are full: the day so far, every hour.

    size 3, step 1     0    1    2    3
                       [----)
                       [---------)
                       [--------------)
                                      [----)

A record at 1 is in the second and the third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration, DurationLike, require_length
from fanlight.model.windows.kind import WindowKind


@dataclass(frozen=True, slots=True)
class Cumulating(WindowKind):
    """Windows that start together and end one `step` after the other, until `size` is full.

    >>> cumulating("1 day", step="1 h").step
    Duration('1 h')
    """

    size: Duration
    step: Duration
    offset: Duration = ZERO
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        require_length("Cumulating", "size", self.size)
        require_length("Cumulating", "step", self.step)
        if self.size.micros % self.step.micros:
            raise SpecError(
                f"Cumulating: `size` ({self.size}) must be a multiple of `step` ({self.step}); the last step would be "
                "cut short."
            )

    @property
    def span(self) -> Duration:
        """The last window of each period is the longest."""
        return self.size

    @property
    def heeds_earliest_start(self) -> bool:
        """Windows that start before it are left out."""
        return True

    @property
    def overlap(self) -> int:
        """In how many windows a record is, at most."""
        return self.size.micros // self.step.micros

    @property
    def known_by(self) -> Literal["start", "end"]:
        """Which bound tells two windows apart: several start together."""
        return "end"


def cumulating(
    size: DurationLike,
    step: DurationLike,
    offset: DurationLike = ZERO,
    *,
    domain: TimeDomain | str = TimeDomain.EVENT,
) -> Cumulating:
    """The time so far, every `step`, starting anew every `size`.

    >>> cumulating("1 day", step="1 hour").step
    Duration('1 h')
    """
    return Cumulating(Duration.of(size), Duration.of(step), Duration.of(offset), choice(TimeDomain, domain, "domain"))
