"""Windows over positions instead of time.

    size 4 every 2     1  2  3  4  5  6
                 [-------)
                       [----------)
                             [----------)

The first window holds what there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.semantics import LateBy, Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.model.windows.kind import Asked, WindowKind


class Scope(Enum):
    """Among which records a record has its position.

    >>> counting(3, per="stream").per
    <Scope.STREAM: 'stream'>
    """

    KEY = "key"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Counting(WindowKind):
    """Windows of `size` records that start every `every` records.

    Positions count from 1, by arrival among the records of the key or of the stream; or the column `by` has them.

    >>> counting(10, every=2).every
    2
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

    @property
    def is_aligned(self) -> bool:
        """Whether every key has the same windows: those over the positions of the stream."""
        return self.per is Scope.STREAM

    @property
    def spans_keys(self) -> bool:
        """Whether records of other keys have positions among those of a record."""
        return self.per is Scope.STREAM

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that has the positions."""
        return () if self.by is None else (self.by,)

    @property
    def position(self) -> str | None:
        """The column that has the positions, if they are not counted as records arrive."""
        return self.by

    @property
    def overlap(self) -> int:
        """In how many windows a record is, at most."""
        return -(-self.size // self.every)

    def late_by(self, semantics: Semantics) -> LateBy:
        """A position is not late by itself: what counts is whether its windows are full."""
        return LateBy.WINDOW

    def is_strict(self, semantics: Semantics, *, said: bool) -> bool:
        """Never: a window is full when its last position has come, whatever is said of time."""
        return False

    def own_refusals(self, asked: Asked) -> Iterator[str]:
        """Keys that each count their own records have no watermark in common."""
        if self.per is Scope.KEY and asked.has_event_timers:
            yield (
                "trigger: `every` in the event domain follows a watermark, and keys that each count their own records "
                "have none in common. Use every(...) of the clock, or after(...)."
            )


def counting(size: int, every: int | None = None, *, per: Scope | str = Scope.KEY, by: str | None = None) -> Counting:
    """Windows of `size` records.

    >>> counting(4, every=2).every
    2
    """
    return Counting(size, size if every is None else every, choice(Scope, per, "per"), by)
