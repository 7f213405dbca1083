"""How long windows and messages stay readable after they can no longer change."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.duration import Duration, DurationLike


@dataclass(frozen=True, slots=True)
class Retention:
    """Keep expired windows for `time` of event time past their expiry, and at most `count` of them.

    `messages` keeps the records themselves too, for `messages(...)`.
    """

    time: Duration = Duration.FOREVER
    count: int | None = None
    messages: bool = False

    def __post_init__(self) -> None:
        if self.time.micros < 0:
            raise SpecError(f"Retention: `time` ({self.time}) is negative. Use a duration from 0 up.")
        if self.count is not None and self.count < 1:
            raise SpecError(f"Retention: `count` ({self.count}) must be at least 1. Leave it out for no limit.")


def retention(time: DurationLike = Duration.FOREVER, *, count: int | None = None, messages: bool = False) -> Retention:
    """How long expired windows stay readable, by time and by count.

    >>> retention("1 hour", count=100).count
    100
    """
    return Retention(Duration.of(time), count, messages)
