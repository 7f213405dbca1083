"""Frames: which rows of its key a row looks at.

rows(2)                  · · · [■ ■ ●] · ·        the row and the two before it
rows(3, following=-1)    · · [■ ■ ■] ● · ·        the three before it
range("60 s")            · [■ ■ · ■ ■ ●] · ·      all rows of the last 60 s, and all of the same time
session_frame("10 s")    · · [■ ■ ● ■] · · ·      all rows around it with no silence of 10 s between them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fanlight.errors import SpecError
from fanlight.model.time.duration import ZERO, Duration, DurationLike, require_length
from fanlight.model.time.timestamp import EARLIEST, LATEST

UNBOUNDED = "unbounded"
"""The word for a frame that starts with the first row of its key, or ends with the last of a partition."""


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
    def is_endless(self) -> bool:
        """Whether it ends with the last row there is: only a partition that ends has one."""
        return False

    @property
    def ends_before(self) -> bool:
        """Whether it ends before its row."""
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
    """So many rows before the row, and so many after it; one that would end before it starts is empty."""

    preceding: int | None = 0
    """None: all rows before it. Below 0: it starts so many rows after the row."""
    following: int | None = 0
    """None: all rows after it. Below 0: it ends so many rows before the row."""

    def __post_init__(self) -> None:
        given: tuple[tuple[str, object], ...] = (("preceding", self.preceding), ("following", self.following))
        for word, count in given:
            if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
                raise SpecError(f"rows: `{word}` ({count!r}) must be a whole number, as in rows(3).")

    @property
    def is_unbounded(self) -> bool:
        """Whether it starts with the first row of its key."""
        return self.preceding is None

    @property
    def is_endless(self) -> bool:
        """Whether it ends with the last row there is."""
        return self.following is None

    @property
    def ends_before(self) -> bool:
        """Whether it ends before its row."""
        return self.following is not None and self.following < 0

    @property
    def is_empty(self) -> bool:
        """Whether it would end before it starts."""
        return self.preceding is not None and self.following is not None and self.preceding + self.following < 0

    @property
    def rows_before(self) -> int:
        """How many rows before its own it needs."""
        return 0 if self.is_empty else max(self.preceding or 0, 0)

    @property
    def rows_after(self) -> int:
        """How many rows after its own it waits for."""
        return 0 if self.is_empty else max(self.following or 0, 0)

    def __str__(self) -> str:
        if self.preceding is not None and self.following is not None and min(self.preceding, self.following) < 0:
            return "no row" if self.is_empty else f"the rows from {_place(-self.preceding)} to {_place(self.following)}"
        before = "all rows before" if self.preceding is None else f"{self.preceding} rows before"
        if self.following is None:
            after = ", all rows after"
        elif self.following < 0:
            return f"{before}, up to {_place(self.following)}"
        else:
            after = f", {self.following} after" if self.following else ""
        return f"{before}{after}{', without the row itself' if self.excludes_current else ' and the row'}"


@dataclass(frozen=True, slots=True)
class RangeFrame(Frame):
    """All rows whose times are at most so far before the row, or after it; both ends are inside."""

    preceding: Duration = ZERO
    """Forever: all rows before it, and those of its time. Below 0: it starts so long after the row's time."""
    following: Duration = ZERO
    """Forever: all rows after it. Below 0: it ends so long before the row's time, and has no row of that time."""

    def __post_init__(self) -> None:
        longest = max(0 if one.is_forever else abs(one.micros) for one in (self.preceding, self.following))
        if longest > LATEST - EARLIEST:
            raise SpecError(
                f"range: {Duration(longest)} is longer than times can be apart. Use 'unbounded' for all rows before."
            )

    @property
    def is_unbounded(self) -> bool:
        """Whether it starts with the first row of its key."""
        return self.preceding.is_forever

    @property
    def is_endless(self) -> bool:
        """Whether it ends with the last row there is."""
        return self.following.is_forever

    @property
    def ends_before(self) -> bool:
        """Whether it ends before its row."""
        return self.following.micros < 0

    @property
    def is_empty(self) -> bool:
        """Whether it would end before it starts."""
        return not (self.is_unbounded or self.is_endless) and self.preceding.micros + self.following.micros < 0

    @property
    def has_lengths(self) -> bool:
        """Whether it looks at how far times are apart, and not only at which are equal."""
        return any(one.micros and not one.is_forever for one in (self.preceding, self.following))

    @property
    def time_before(self) -> int:
        """How far before its row it reaches."""
        return 0 if self.is_unbounded or self.is_empty else max(self.preceding.micros, 0)

    @property
    def time_after(self) -> int:
        """How far after its row it reaches."""
        return 0 if self.is_endless or self.is_empty else max(self.following.micros, 0)

    def __str__(self) -> str:
        without = ", without the row itself" if self.excludes_current else ""
        if self.preceding.micros < 0 or self.following.micros < 0:
            if self.is_empty:
                return "no row"
            start = "the first" if self.is_unbounded else _instant(-self.preceding.micros)
            return f"the rows from {start} to {'the last' if self.is_endless else _instant(self.following.micros)}"
        before = "all rows up to its time" if self.is_unbounded else f"the rows of the last {self.preceding}"
        if self.is_endless:
            return f"{before} and all after{without}"
        after = f" and the next {self.following}" if self.following.micros else ""
        return f"{before}{after}{without}"


@dataclass(frozen=True, slots=True)
class SessionFrame(Frame):
    """The whole session of the row: the rows around it, each less than `gap` after the one before."""

    gap: Duration = Duration(1)

    def __post_init__(self) -> None:
        require_length("session_frame", "gap", self.gap)

    def __str__(self) -> str:
        without = ", without the row itself" if self.excludes_current else ""
        return f"the session of the row, which {self.gap} without a row end{without}"


def rows(
    preceding: int | Literal["unbounded"] = 0,
    *,
    following: int | Literal["unbounded"] = 0,
    exclude: Literal["current"] | None = None,
) -> RowFrame:
    """A frame of so many rows before the row, the row itself, and so many after it.

    Below 0, `preceding` starts after the row and `following` ends before it. All rows after it (`"unbounded"`) are
    known where a partition ends: `window(…).over(…)`.

    >>> rows(2).preceding
    2
    >>> rows("unbounded").is_unbounded
    True
    >>> str(rows(10, following=-1))
    'the rows from 10 before to 1 before'
    """
    before = None if preceding == UNBOUNDED else preceding
    after = None if following == UNBOUNDED else following
    return RowFrame(_excludes("rows", exclude), before, after)  # type: ignore[arg-type]


def range(
    preceding: DurationLike = ZERO, *, following: DurationLike = ZERO, exclude: Literal["current"] | None = None
) -> RangeFrame:
    """A frame of all rows from `preceding` before the row's time to `following` after it, both ends inside.

    Below 0, `preceding` starts after that time and `following` ends before it: rows of that time are not in it then.

    >>> range("60 s").time_before
    60000000
    >>> range("unbounded").is_unbounded
    True
    >>> str(range("10 s", following="-1 s"))
    'the rows from 10 s before to 1 s before'
    """
    before, after = (Duration.FOREVER if one == UNBOUNDED else Duration.of(one) for one in (preceding, following))
    return RangeFrame(_excludes("range", exclude), before, after)


def session_frame(gap: DurationLike, *, exclude: Literal["current"] | None = None) -> SessionFrame:
    """A frame of the whole session of the row: the rows of its key around it, each less than `gap` after the last.

    >>> session_frame("10 min").gap
    Duration('10 min')
    """
    return SessionFrame(_excludes("session_frame", exclude), Duration.of(gap))


def _place(rows: int) -> str:
    """Where a row is, so many after the row."""
    return f"{abs(rows)} {'before' if rows < 0 else 'after'}" if rows else "the row"


def _instant(micros: int) -> str:
    """What time is so long after that of the row."""
    return f"{Duration(abs(micros))} {'before' if micros < 0 else 'after'}" if micros else "its time"


def _excludes(word: str, exclude: object) -> bool:
    if exclude not in (None, "current"):
        raise SpecError(f"{word}: `exclude` ({exclude!r}) must be 'current', or be left out.")
    return exclude is not None
