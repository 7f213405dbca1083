"""The calendar, read instant by instant: where a local day, week, month, quarter or year begins.

Days are numbered from 1970-01-01. A unit begins at the first instant whose local date is its first day, or a later one:
a midnight that clocks skip begins when they have been put forward, one that comes twice begins the first time, and
a day that a zone left out is empty.
"""

from __future__ import annotations

import importlib.resources
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.model.windows.calendar import CalendarUnit
from fanlight.model.windows.window import Window

SECOND = 1_000_000
DAY = 86_400 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_CYCLE = 146_097
"""Days in 400 years, after which the calendar repeats."""


def unit_of(unit: CalendarUnit, zone: str, time: int) -> Window:
    """The day, week, month, quarter or year of a zone that an instant is in.

    >>> unit_of(CalendarUnit.DAY, "UTC", DAY + 5) == Window(DAY, 2 * DAY)
    True
    """
    first = _local_day(zone, time)
    while not _is_first_day(unit, first):
        first -= 1
    following = _following(unit, first)
    # Where clocks are put back over midnight, the old date comes again inside the new day.
    while _begins(zone, following) <= time:
        first, following = following, _following(unit, following)
    return Window(_begins(zone, first), _begins(zone, following))


def _is_first_day(unit: CalendarUnit, day: int) -> bool:
    """Whether a day begins a unit."""
    that = _date(day)
    match unit:
        case CalendarUnit.DAY:
            return True
        case CalendarUnit.WEEK:
            return that.weekday() == 0
        case CalendarUnit.MONTH:
            return that.day == 1
        case CalendarUnit.QUARTER:
            return that.day == 1 and that.month in (1, 4, 7, 10)
        case CalendarUnit.YEAR:
            return that.day == 1 and that.month == 1


def _following(unit: CalendarUnit, first: int) -> int:
    day = first + 1
    while not _is_first_day(unit, day):
        day += 1
    return day


def _date(day: int) -> date:
    """A date like that of the day, 400 years closer to the middle of what a `date` can hold."""
    return date.fromordinal(_EPOCH_DAY + day + (_CYCLE if day < 0 else -_CYCLE))


@cache
def _begins(zone: str, day: int) -> int:
    """The first instant whose local date is this day or a later one, looked for minute by minute, then second."""
    minute, earliest = 60 * SECOND, (day - 1) * DAY  # no zone is a day ahead
    at = next(t for t in range(earliest, earliest + 3 * DAY, minute) if _local_day(zone, t) >= day)
    return next(t for t in range(at - minute, at + SECOND, SECOND) if _local_day(zone, t) >= day)


def _local_day(zone: str, time: int) -> int:
    known = min(max(time, EARLIEST + DAY), LATEST - DAY)  # zones have no rules outside of what a datetime can hold
    offset = (_EPOCH + timedelta(microseconds=known)).astimezone(_zone(zone)).utcoffset()
    assert offset is not None
    return (time + offset // timedelta(microseconds=1)) // DAY


@cache
def _zone(name: str) -> ZoneInfo:
    """The zone as the package `tzdata` has it: machines may have older ones."""
    with importlib.resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
