"""Windows over positions instead of time.

    size 4 every 2     1  2  3  4  5  6
                 [-------)
                       [----------)
                             [----------)

The first window holds what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.choice import choice
from fanlight.model.windows import TimeDomain


class Scope(Enum):
    """Among which records a record has its position."""

    KEY = "key"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Counting:
    """Windows of `size` records that start every `every` records.

    Positions count from 1, by arrival among the records of the key or of the stream; or the column `by` has them.
    """

    size: int
    every: int
    per: Scope = Scope.KEY
    by: str | None = None
    domain: TimeDomain = TimeDomain.ARRIVAL

    def __post_init__(self) -> None:
        if not 1 <= self.every <= self.size:
            raise SpecError(
                f"Counting: `every` ({self.every}) must be from 1 up to `size` ({self.size}); records between windows "
                "would be lost."
            )


def counting(size: int, every: int | None = None, *, per: Scope | str = Scope.KEY, by: str | None = None) -> Counting:
    """Windows of `size` records.

    >>> counting(4, every=2).every
    2
    """
    return Counting(size, size if every is None else every, choice(Scope, per, "per"), by)
