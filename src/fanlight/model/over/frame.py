"""Frames: which rows of its key a row looks at.

rows(2)          · · · [■ ■ ●] · ·        the row and the two before it
range("60 s")    · [■ ■ · ■ ■ ●] · ·      all rows of the last 60 s, and all of the same time
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fanlight.errors import SpecError
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST, LATEST

UNBOUNDED = "unbounded"
"""The word for a frame that starts with the first row of its key."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows that a function of a row looks at: some before it, itself, some after it."""

    excludes_current: bool = False
    """Whether the row itself is left out."""

    @property
    def is_unbounded(self) -> bool:
        """Whether it starts with the first row of its key."""
        return False

    @property
    def rows_before(self) -> int:
        """How many rows before its own it needs, whatever their times."""
        return 0

    @property
    def rows_after(self) -> int:
        """How many rows after its own it waits for."""
        return 0

    @property
    def time_before(self) -> int:
        """How far before its row it reaches, in microseconds."""
        return 0

    @property
    def time_after(self) -> int:
        """How far after its row it reaches, in microseconds."""
        return 0


@dataclass(frozen=True, slots=True)
class RowFrame(Frame):
    """So many rows before the row, and so many after it."""

    preceding: int | None = 0
    """None: all rows before it."""
    following: int = 0

    def __post_init__(self) -> None:
        given: tuple[tuple[str, object], ...] = (("preceding", self.preceding), ("following", self.following))
        for word, count in given:
            if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
                raise SpecError(f"rows: `{word}` ({count!r}) must be a whole number from 0 up, as in rows(3).")

    @property
    def is_unbounded(self) -> bool:
        """Whether it starts with the first row of its key."""
        return self.preceding is None

    @property
    def rows_before(self) -> int:
        """How many rows before its own it needs."""
        return self.preceding or 0

    @property
    def rows_after(self) -> int:
        """How many rows after its own it waits for."""
        return self.following

    def __str__(self) -> str:
        before = "all rows before" if self.preceding is None else f"{self.preceding} rows before"
        after = f", {self.following} after" if self.following else ""
        return f"{before}{after}{', without the row itself' if self.excludes_current else ' and the row'}"


@dataclass(frozen=True, slots=True)
class RangeFrame(Frame):
    """All rows whose times are at most so far before the row, or after it; both ends are inside."""

    preceding: Duration = ZERO
    """Forever: all rows before it, and those of its time."""
    following: Duration = ZERO

    def __post_init__(self) -> None:
        if self.preceding.micros < 0 or self.following.micros < 0:
            raise SpecError(
                f"range: `preceding` ({self.preceding}) and `following` ({self.following}) must be from 0 up."
            )
        longest = max(0 if one.is_forever else one.micros for one in (self.preceding, self.following))
        if longest > LATEST - EARLIEST:
            raise SpecError(
                f"range: {Duration(longest)} is longer than times can be apart. Use 'unbounded' for all rows before."
            )
        if self.following.is_forever:
            raise SpecError(
                "range: `following` has no end, so no row would ever leave. Use a duration, as in following='10 s'."
            )

    @property
    def is_unbounded(self) -> bool:
        """Whether it starts with the first row of its key."""
        return self.preceding.is_forever

    @property
    def time_before(self) -> int:
        """How far before its row it reaches."""
        return 0 if self.is_unbounded else self.preceding.micros

    @property
    def time_after(self) -> int:
        """How far after its row it reaches."""
        return self.following.micros

    def __str__(self) -> str:
        before = "all rows up to its time" if self.is_unbounded else f"the rows of the last {self.preceding}"
        after = f" and the next {self.following}" if self.following.micros else ""
        return f"{before}{after}{', without the row itself' if self.excludes_current else ''}"


def rows(
    preceding: int | Literal["unbounded"] = 0, *, following: int = 0, exclude: Literal["current"] | None = None
) -> RowFrame:
    """A frame of so many rows before the row, the row itself, and so many after it.

    >>> rows(2).preceding
    2
    >>> rows("unbounded").is_unbounded
    True
    """
    return RowFrame(_excludes("rows", exclude), None if preceding == UNBOUNDED else preceding, following)  # type: ignore[arg-type]


def range(
    preceding: DurationLike = ZERO, *, following: DurationLike = ZERO, exclude: Literal["current"] | None = None
) -> RangeFrame:
    """A frame of all rows from `preceding` before the row's time to `following` after it, both ends inside.

    >>> range("60 s").time_before
    60000000
    >>> range("unbounded").is_unbounded
    True
    """
    before = Duration.FOREVER if preceding == UNBOUNDED else Duration.of(preceding)
    return RangeFrame(_excludes("range", exclude), before, Duration.of(following))


def _excludes(word: str, exclude: object) -> bool:
    if exclude not in (None, "current"):
        raise SpecError(f"{word}: `exclude` ({exclude!r}) must be 'current', or be left out.")
    return exclude is not None
