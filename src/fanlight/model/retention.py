"""How long windows and messages stay readable after they can no longer change."""

from __future__ import annotations

from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.later import LATER
from fanlight.model.time.duration import Duration, DurationLike


@dataclass(frozen=True, slots=True)
class Retention:
    """Keep expired windows for `time` of event time past their expiry, and at most `count` of them.

    `messages` keeps the records themselves too, for `messages(...)`. `offsets` is the column of their offsets: then
    messages are found by offset, and windows tell the first and the last offset they have.

    >>> retention("1 h", messages=True).messages
    True
    """

    time: Duration = Duration.FOREVER
    count: int | None = None
    messages: bool = False
    offsets: str | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        if self.time.micros < 0:
            raise SpecError(f"Retention: `time` ({self.time}) is negative. Use a duration from 0 up.")
        if self.count is not None and self.count < 1:
            raise SpecError(f"Retention: `count` ({self.count}) must be at least 1. Leave it out for no limit.")
        named: object = self.offsets
        if named is not None and not (isinstance(named, str) and named):
            raise SpecError(f"Retention: `offsets` ({self.offsets!r}) is no column. Name one, as in offsets='offset'.")
        if self.offsets is not None and not self.messages:
            raise SpecError(
                f"Retention: `offsets` ({self.offsets!r}) are kept with the messages. Ask for both: messages=True."
            )


def retention(
    time: DurationLike = Duration.FOREVER,
    *,
    count: int | None = None,
    messages: bool = False,
    offsets: str | None = None,
) -> Retention:
    """How long expired windows stay readable, by time and by count.

    `offsets` names the column of whole numbers that has the offsets of records; an operator that is fed by hand fills
    it with what `add(offset=…)` says.

    >>> retention("1 hour", count=100).count
    100
    """
    return Retention(Duration.of(time), count, messages, offsets)
