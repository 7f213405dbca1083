"""Which windows a record belongs to: the declarations.

    tumbling        [--A--)[--B--)[--C--)
    hopping         [------A------)
                        [------B------)
                            [------C------)
    global          (----------A----------)

Every window is half-open. The other kinds are values of their own in this folder; `kinds` lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from fanlight.errors import SpecError
from fanlight.model.choice import choice
from fanlight.model.duration import Duration, DurationLike, require_length
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text

if TYPE_CHECKING:
    from fanlight.model.calendar import Calendar
    from fanlight.model.counting import Counting
    from fanlight.model.cumulating import Cumulating

ZERO = Duration(0)


class TimeDomain(Enum):
    """Which clock a window is cut by."""

    EVENT = "event"
    PROCESSING = "processing"
    ARRIVAL = "arrival"  # time is the place in the stream, counted from 1


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One interval `[start, end)` of time."""

    start: Timestamp
    end: Timestamp

    def __str__(self) -> str:
        return f"[{as_text(self.start)}, {as_text(self.end)})"


WHOLE_TIME = Window(START_OF_TIME, END_OF_TIME)


@dataclass(frozen=True, slots=True)
class Tumbling:
    """Windows of one size, side by side; each record is in exactly one."""

    size: Duration
    offset: Duration = ZERO
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        require_length("Tumbling", "size", self.size)


@dataclass(frozen=True, slots=True)
class Hopping:
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


@dataclass(frozen=True, slots=True)
class Global:
    """One window for the whole of time; it closes when the input ends."""

    domain: TimeDomain = TimeDomain.EVENT


@dataclass(frozen=True, slots=True)
class Same:
    """The windows that records already belong to, such as the results of an earlier stage.

    Their time is its start; of cumulating windows, several of which start together, it is the end.
    """

    of: Tumbling | Hopping | Global | Cumulating | Calendar | Counting
    domain: TimeDomain = TimeDomain.EVENT


def tumbling(
    size: DurationLike, offset: DurationLike = ZERO, *, domain: TimeDomain | str = TimeDomain.EVENT
) -> Tumbling:
    """Windows of one size, side by side.

    >>> tumbling("1 minute").size
    Duration('1 min')
    """
    return Tumbling(Duration.of(size), Duration.of(offset), choice(TimeDomain, domain, "domain"))


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


def global_window(*, domain: TimeDomain | str = TimeDomain.EVENT) -> Global:
    """One window for the whole of time."""
    return Global(choice(TimeDomain, domain, "domain"))
