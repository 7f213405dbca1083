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

from dataclasses import dataclass
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.choice import choice
from fanlight.model.duration import Duration, DurationLike
from fanlight.model.windows import TimeDomain


class Anchor(Enum):
    """Which end of a sliding window lies at a record."""

    TRAILING = "trailing"  # ends at it
    FORWARD = "forward"  # starts at it
    BOTH = "both"  # ends at it, and another starts just after it: as Kafka Streams has them


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows from records that are at most `difference` apart; both ends are inside."""

    difference: Duration
    anchor: Anchor = Anchor.TRAILING
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        if self.difference.micros < 0 or self.difference.is_forever:
            raise SpecError(
                f"Sliding: `difference` ({self.difference}) must be a length from zero up. "
                "Use a duration such as '1 minute', or Global for one window without end."
            )


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
