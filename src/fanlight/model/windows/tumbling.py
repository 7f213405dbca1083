"""Windows of one size, side by side.

[--A--)[--B--)[--C--)
"""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration, DurationLike, require_length
from fanlight.model.windows.kind import WindowKind


@dataclass(frozen=True, slots=True)
class Tumbling(WindowKind):
    """Windows of one size, side by side; each record is in exactly one."""

    size: Duration
    offset: Duration = ZERO
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        require_length("Tumbling", "size", self.size)

    @property
    def span(self) -> Duration:
        """Every window has the same length."""
        return self.size

    @property
    def heeds_earliest_start(self) -> bool:
        """Windows that start before it are left out."""
        return True


def tumbling(
    size: DurationLike, offset: DurationLike = ZERO, *, domain: TimeDomain | str = TimeDomain.EVENT
) -> Tumbling:
    """Windows of one size, side by side.

    >>> tumbling("1 minute").size
    Duration('1 min')
    """
    return Tumbling(Duration.of(size), Duration.of(offset), choice(TimeDomain, domain, "domain"))
