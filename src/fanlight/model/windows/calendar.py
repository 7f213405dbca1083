"""Windows as people count time: days, weeks, months, quarters and years of a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fanlight.errors import SpecError
from fanlight.model.enum_word import choice
from fanlight.model.time.domain import TimeDomain
from fanlight.model.windows.kind import WindowKind


class CalendarUnit(Enum):
    """What one window is; weeks are ISO weeks, from Monday.

    >>> CalendarUnit("week")
    <CalendarUnit.WEEK: 'week'>
    """

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Calendar(WindowKind):
    """The units of a calendar, side by side. A day may be 23, 24 or 25 hours long, as clocks are changed.

    >>> calendar("month", zone="Europe/Berlin")
    Calendar(unit=<CalendarUnit.MONTH: 'month'>, zone='Europe/Berlin', domain=<TimeDomain.EVENT: 'event'>)
    """

    unit: CalendarUnit
    zone: str = "UTC"
    domain: TimeDomain = TimeDomain.EVENT

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
            raise SpecError(
                f"Calendar: `zone` ({self.zone!r}) is no time zone. Use a name such as 'Europe/Berlin', or 'UTC'."
            ) from problem

    @property
    def heeds_earliest_start(self) -> bool:
        """Windows that start before it are left out."""
        return True


def calendar(unit: CalendarUnit | str, zone: str = "UTC", *, domain: TimeDomain | str = TimeDomain.EVENT) -> Calendar:
    """The days, weeks, months, quarters or years of a time zone.

    >>> calendar("month", zone="Europe/Berlin").unit
    <CalendarUnit.MONTH: 'month'>
    """
    return Calendar(choice(CalendarUnit, unit, "unit"), zone, choice(TimeDomain, domain, "domain"))
