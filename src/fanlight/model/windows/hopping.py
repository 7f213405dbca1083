"""Windows of one size that start again and again.

[------A------)
[------B------)
[------C------)
"""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import ZERO, Duration, DurationLike, require_length
from fanlight.model.windows.kind import WindowKind


@dataclass(frozen=True, slots=True)
class Hopping(WindowKind):
    """Windows of one size that start every `every`; a record is in `size / every` of them.

    `gaps` allows `every` to exceed `size`: records between two windows are then dead letters.
    """

    size: Duration
    every: Duration
    offset: Duration = ZERO
    domain: TimeDomain = TimeDomain.EVENT
    gaps: bool = False

    def __post_init__(self) -> None:
        require_length("Hopping", "size", self.size)
        require_length("Hopping", "every", self.every)
        if self.every > self.size and not self.gaps:
            raise SpecError(
                f"Hopping: `every` ({self.every}) exceeds `size` ({self.size}); records between windows "
                "would be lost. Use a smaller `every` or Tumbling, or say gaps=True to have them as dead letters."
            )

    @property
    def span(self) -> Duration:
        """Every window has the same length."""
        return self.size

    @property
    def heeds_earliest_start(self) -> bool:
        """Windows that start before it are left out."""
        return True

    @property
    def overlap(self) -> int:
        """In how many windows a record is, at most."""
        return -(-self.size.micros // self.every.micros)


def hopping(
    size: DurationLike,
    every: DurationLike,
    offset: DurationLike = ZERO,
    *,
    domain: TimeDomain | str = TimeDomain.EVENT,
    gaps: bool = False,
) -> Hopping:
    """Windows of `size` that start every `every`.

    >>> hopping("10 minutes", every="15 minutes")
    Traceback (most recent call last):
        ...
    fanlight.errors.SpecError: Hopping: `every` (15 min) exceeds `size` (10 min); records between \
windows would be lost. Use a smaller `every` or Tumbling, or say gaps=True to have them as dead letters.
    """
    return Hopping(
        Duration.of(size), Duration.of(every), Duration.of(offset), choice(TimeDomain, domain, "domain"), gaps
    )
