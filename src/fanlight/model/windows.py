"""Which windows a record belongs to: the declarations.

    tumbling        [--A--)[--B--)[--C--)
    hopping         [------A------)
                        [------B------)
                            [------C------)
    global          (----------A----------)

Every window is half-open. Further kinds (session, sliding, count, cumulate, calendar) are further
values in this folder; `kernels.slicing` says how a kind cuts the time axis into slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fanlight.errors import SpecError
from fanlight.model.choice import choice
from fanlight.model.duration import Duration, DurationLike
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, as_text

ZERO = Duration(0)


class TimeDomain(Enum):
    """Which clock a window is cut by."""

    EVENT = "event"
    PROCESSING = "processing"


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
        _require_length("Tumbling", "size", self.size)


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
        _require_length("Hopping", "size", self.size)
        _require_length("Hopping", "every", self.every)
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
    """The windows that records already belong to, such as the results of an earlier stage; their time is its start."""

    of: Tumbling | Hopping | Global
    domain: TimeDomain = TimeDomain.EVENT


WindowKind = Tumbling | Hopping | Global | Same


def _require_length(kind: str, field: str, value: Duration) -> None:
    if value.micros <= 0 or value.is_forever:
        raise SpecError(
            f"{kind}: `{field}` ({value}) must be a length above zero; a window without length holds no record. "
            f"Use a positive duration such as '1 minute', or Global for one window without end."
        )


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
