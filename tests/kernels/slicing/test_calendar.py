"""Calendar windows against Python's own calendar and zones, read from the same files."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.errors import SpecError
from fanlight.kernels.slicing.calendar import CalendarUnits
from fanlight.kernels.zones.posix_rule import Rule
from fanlight.kernels.zones.tzif import read_zone, zone_file
from fanlight.kernels.zones.zone import Zone
from fanlight.model.semantics import Semantics
from fanlight.model.time.timestamp import EARLIEST, LATEST, timestamp
from fanlight.model.windows.calendar import Calendar, CalendarUnit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = 3_600_000_000
DAY = 24 * HOUR

NAMES = [
    *("UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "America/St_Johns"),
    *("America/Nuuk", "America/Havana", "America/Juneau", "Asia/Beirut", "Asia/Gaza", "Asia/Kathmandu", "Asia/Manila"),
    *("Africa/Casablanca", "Africa/Monrovia", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Kiritimati"),
]
"""Clocks that are put back over midnight, forward over it, by half an hour, for winter, for Ramadan, by a whole day,
and not at all."""


@lru_cache
def zone_info(name: str) -> ZoneInfo:
    return ZoneInfo.from_file(io.BytesIO(zone_file(name)), key=name)


@lru_cache
def changes(name: str) -> list[int]:
    """Every moment at which the clocks of a zone are changed."""
    return [instant for instant in Zone.named(name).instants.tolist() if EARLIEST + DAY < instant < LATEST - DAY]


def moment(time: int) -> datetime:
    return EPOCH + timedelta(microseconds=time)


def shown(name: str, time: int) -> datetime:
    """What the clocks of a zone show."""
    return moment(time).astimezone(zone_info(name))


def units(name: str, unit: str) -> CalendarUnits:
    return CalendarUnits.of_kind(fl.calendar(unit, name), Semantics())


def bounds(name: str, unit: str, time: str) -> tuple[str, str]:
    """The window around a time, as text."""
    found = units(name, unit)
    starts, ends = found.bounds(found.slices(np.array([timestamp(time)])))
    return moment(int(starts[0])).isoformat()[:-6], moment(int(ends[0])).isoformat()[:-6]


@st.composite
def zoned(draw: st.DrawFn) -> tuple[str, int]:
    """A zone and a time: any at all, one of our age, or one close to where clocks are changed."""
    name = draw(st.sampled_from(NAMES))
    drawn = [st.integers(EARLIEST + 2 * DAY, LATEST - 2 * DAY), st.integers(-120 * 365 * DAY, 150 * 365 * DAY)]
    if changes(name):
        near = st.sampled_from([0, -1, 1]) | st.integers(-26 * HOUR, 26 * HOUR)
        drawn.append(st.builds(lambda change, by: change + by, st.sampled_from(changes(name)), near))
    return name, draw(st.one_of(drawn))


@given(zoned())
def test_clocks_show_what_pythons_clocks_show(case: tuple[str, int]) -> None:
    name, time = case
    zone = Zone.named(name)
    offset = zone.offsets[np.searchsorted(zone.instants, time, "right") - 1]
    assert timedelta(microseconds=int(offset)) == shown(name, time).utcoffset()


@given(zoned())
def test_a_day_begins_with_the_first_instant_that_shows_it(case: tuple[str, int]) -> None:
    name, time = case
    zone = Zone.named(name)
    day = shown(name, time).date()
    [start] = zone.starts(np.array([(day - date(1970, 1, 1)).days])).tolist()
    assert shown(name, start).date() == day
    assert shown(name, start - 1).date() < day
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone_info(name))  # the first one, where there are two
    exists = midnight.astimezone(UTC).astimezone(zone_info(name)).replace(fold=0) == midnight
    if exists:
        assert moment(start) == midnight.astimezone(UTC)
    else:
        assert start in changes(name)


def first_day(unit: CalendarUnit, day: date) -> date:
    match unit:
        case CalendarUnit.DAY:
            return day
        case CalendarUnit.WEEK:
            return day - timedelta(days=day.isoweekday() - 1)
        case CalendarUnit.MONTH:
            return day.replace(day=1)
        case CalendarUnit.QUARTER:
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case CalendarUnit.YEAR:
            return day.replace(month=1, day=1)


@given(zoned(), st.sampled_from(CalendarUnit))
def test_a_record_is_in_the_unit_whose_first_day_python_says(case: tuple[str, int], unit: CalendarUnit) -> None:
    name, time = case
    zone = Zone.named(name)
    [begun] = zone.days(np.array([time])).tolist()  # the date shown, or one that clocks were put back from
    days = (shown(name, time).date() - date(1970, 1, 1)).days
    assert days <= begun <= days + 1
    first = first_day(unit, date(1970, 1, 1) + timedelta(days=begun))
    windows = units(name, unit.value)
    number = windows.slices(np.array([time]))
    starts, ends = windows.bounds(number)
    assert starts.tolist() == zone.starts(np.array([(first - date(1970, 1, 1)).days])).tolist()
    assert starts[0] <= time < ends[0]


@given(st.sampled_from(NAMES), st.sampled_from(CalendarUnit), st.lists(st.integers(EARLIEST, LATEST), min_size=2))
def test_many_records_are_read_as_one_is(name: str, unit: CalendarUnit, times: list[int]) -> None:
    windows = units(name, unit.value)
    near = [time % (3 * 365 * DAY) for time in times] * 60  # close together, and more than there are days
    for bundle in (times, near):
        alone = [int(windows.slices(np.array([time]))[0]) for time in bundle]
        assert windows.slices(np.array(bundle)).tolist() == alone


class TestStories:
    def test_days_of_23_and_25_hours(self) -> None:
        assert bounds("Europe/Berlin", "day", "2026-03-29T12:00Z") == ("2026-03-28T23:00:00", "2026-03-29T22:00:00")
        assert bounds("Europe/Berlin", "day", "2026-10-25T12:00Z") == ("2026-10-24T22:00:00", "2026-10-25T23:00:00")

    def test_a_day_without_midnight_begins_at_one(self) -> None:
        """At 0:00 on 2018-11-04 the clocks of São Paulo were put forward to 1:00, which was 3:00 in UTC."""
        assert bounds("America/Sao_Paulo", "day", "2018-11-04T12:00Z") == ("2018-11-04T03:00:00", "2018-11-05T02:00:00")
        assert bounds("Asia/Beirut", "day", "2022-03-27T12:00Z") == ("2022-03-26T22:00:00", "2022-03-27T21:00:00")

    def test_a_day_with_two_midnights_begins_at_the_first(self) -> None:
        """In St. John's clocks went back at 0:01 on 2010-11-07 to 23:01: the hour shown as the 6th stays in the 7th."""
        seventh = ("2010-11-07T02:30:00", "2010-11-08T03:30:00")
        assert bounds("America/St_Johns", "day", "2010-11-07T02:30:30Z") == seventh
        assert bounds("America/St_Johns", "day", "2010-11-07T03:00Z") == seventh
        assert bounds("America/St_Johns", "day", "2010-11-07T02:29:59Z")[1] == seventh[0]

    def test_the_day_that_samoa_left_out_is_empty(self) -> None:
        """From 2011-12-29 Apia went on to 2011-12-31. The window of the 30th ends where it starts, and closes there."""
        eve = ("2011-12-29T10:00:00", "2011-12-30T10:00:00")
        assert bounds("Pacific/Apia", "day", "2011-12-30T09:59:59Z") == eve
        assert bounds("Pacific/Apia", "day", "2011-12-30T10:00:00Z") == ("2011-12-30T10:00:00", "2011-12-31T10:00:00")
        windows = units("Pacific/Apia", "day")
        before = int(windows.slices(np.array([timestamp("2011-12-30T09:00Z")]))[0])
        starts, ends = windows.bounds(np.array([before + 1]))
        assert starts == ends == timestamp("2011-12-30T10:00Z")
        closing = np.array([timestamp("2011-12-30T10:00Z") - 1, timestamp("2011-12-30T10:00Z")])
        assert windows.last_ending_by(closing).tolist() == [before - 1, before + 1]

    def test_weeks_are_those_of_iso(self) -> None:
        """2027-01-01 is a Friday of the 53rd week of 2026, which goes from Monday to Monday."""
        assert bounds("UTC", "week", "2027-01-01T00:00Z") == ("2026-12-28T00:00:00", "2027-01-04T00:00:00")

    def test_months_quarters_and_years_of_a_zone(self) -> None:
        """At 23:30 of New Year's Eve in UTC it is next year in Berlin."""
        assert bounds("Europe/Berlin", "month", "2026-12-31T23:30Z") == ("2026-12-31T23:00:00", "2027-01-31T23:00:00")
        assert bounds("Europe/Berlin", "quarter", "2026-12-31T23:30Z") == ("2026-12-31T23:00:00", "2027-03-31T22:00:00")
        assert bounds("Europe/Berlin", "year", "2026-12-31T23:30Z") == ("2026-12-31T23:00:00", "2027-12-31T23:00:00")

    def test_windows_that_start_too_early_are_left_out(self) -> None:
        noon, midnight = timestamp("2026-11-15T12:00Z"), timestamp("2026-11-15T00:00Z")
        for earliest, is_in in ((noon, False), (midnight, True)):
            windows = CalendarUnits.of_kind(fl.calendar("day"), Semantics(earliest_start=earliest))
            first, last = windows.windows(windows.slices(np.array([noon])))
            assert (first <= last).tolist() == [is_in]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", CalendarUnit)
def test_the_first_and_the_last_times_there_are_have_windows_too(name: str, unit: CalendarUnit) -> None:
    windows = units(name, unit.value)
    times = np.array([EARLIEST, EARLIEST + 1, LATEST - 1, LATEST])
    starts, ends = windows.bounds(windows.slices(times))
    assert (starts <= times).all()
    assert (times < ends).all()


def test_rules_of_every_form_are_read() -> None:
    """March 1 is day 59, counted from 0, or the 60th without February 29; 26 hours after midnight is the next day."""
    leap, plain = timestamp("2028-03-01") // 1_000_000, timestamp("2027-03-01") // 1_000_000
    years = np.array([2027, 2028])
    counted, _ = Rule.of("AAA0BBB-1,59/0,J305/0").transitions(years)
    assert counted[[0, 2]].tolist() == [plain, leap - 86_400]
    skipped, offsets = Rule.of("AAA0BBB-2:30,J60/26,J305/0").transitions(years)
    assert skipped[[0, 2]].tolist() == [plain + 26 * 3_600, leap + 26 * 3_600]
    assert offsets.tolist() == [9_000, 0, 9_000, 0]
    with pytest.raises(SpecError, match="rule 'soon'"):
        Rule.of("soon")


@pytest.mark.parametrize("name", ["", "Europe", "Europe/../UTC", "/etc/passwd", "Middle/Earth"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="is no time zone"):
        zone_file(name)
    with pytest.raises(SpecError, match="is no time zone"):
        Calendar(CalendarUnit.DAY, name)


def test_what_is_no_zone_file_is_refused() -> None:
    with pytest.raises(SpecError, match="TZif"):
        read_zone(b"TZif" + bytes(60))
