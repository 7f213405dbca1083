"""Sliding windows (KIP-450): one for each distinct set of records that lie close together.

    diff 10          a=100   b=105        c=115
    trailing   [-----a]                             ends at each record
                 [---a-------b]
                             [-b----------c]
    forward          [a------b---]                  starts at each record
                             [b-----------c]
                                          [c-----]

Both ends are inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.windows.kind import Asked, WindowKind, refuse_discarding


class Anchor(Enum):
    """Which end of a sliding window lies at a record.

    >>> sliding("1 min", "both").anchor
    <Anchor.BOTH: 'both'>
    """

    TRAILING = "trailing"  # ends at it
    FORWARD = "forward"  # starts at it
    BOTH = "both"  # ends at it, and another starts just after it: as Kafka Streams has them


@dataclass(frozen=True, slots=True)
class Sliding(WindowKind):
    """Windows from records that are at most `difference` apart; both ends are inside.

    >>> sliding("1 min").difference
    Duration('1 min')
    """

    difference: Duration
    anchor: Anchor = Anchor.TRAILING
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if self.difference.micros < 0 or self.difference.is_forever:
            raise SpecError(
                f"Sliding: `difference` ({self.difference}) must be a length from zero up. "
                "Use a duration such as '1 minute', or Global for one window without end."
            )

    @property
    def is_aligned(self) -> bool:
        """No: windows lie where the records of their key do."""
        return False

    @property
    def span(self) -> Duration:
        """Both ends are inside."""
        return Duration(self.difference.micros + 1)

    @property
    def heeds_earliest_start(self) -> bool:
        """Windows that start before it are left out."""
        return True

    @property
    def kept_as(self) -> str:
        """What state each key has, in words."""
        return "the records of each key as partials"

    def own_refusals(self, asked: Asked) -> Iterator[str]:
        """Windows that come and go with records have firings without an owner."""
        return refuse_discarding(self, asked)


def sliding(
    difference: DurationLike,
    anchor: Anchor | str = Anchor.TRAILING,
    *,
    domain: TimeDomain | str = TimeDomain.EVENT,
) -> Sliding:
    """A window for each record, with all records of its key that are at most `difference` away on one side.

    >>> sliding("1 minute").anchor
    <Anchor.TRAILING: 'trailing'>
    """
    return Sliding(Duration.of(difference), choice(Anchor, anchor, "anchor"), choice(TimeDomain, domain, "domain"))
