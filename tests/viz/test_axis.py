"""Ticks stand where people expect them, and have room."""

from __future__ import annotations

from itertools import pairwise

import pytest

import fanlight as fl
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, timestamp
from fanlight.viz.axis import Axis, axis_over

DIGIT = 7.0


def axis(kind: fl.Session | fl.Calendar | fl.Counting, *times: str | int) -> Axis:
    spec = WindowSpec(time="ts", window=kind, aggregates=(("n", fl.count()),))
    return axis_over(spec, [timestamp(time) for time in times], 100, 900)


def texts(some: Axis) -> list[str]:
    return [tick.text for tick in some.ticks(DIGIT)]


def test_minutes_of_a_day_are_named_by_the_clock() -> None:
    some = axis(fl.session("1 s"), "2026-03-01T12:00Z", "2026-03-01T12:20Z")
    assert texts(some)[:3] == ["12:00", "12:02", "12:04"]
    assert some.caption == "event time, 2026-03-01, UTC"


def test_midnight_is_named_after_its_day() -> None:
    some = axis(fl.session("1 s"), "2026-03-01T20:00Z", "2026-03-02T04:00Z")
    assert "Mar 2" in texts(some)
    assert "22:00" in texts(some)
    assert some.caption == "event time, 2026, UTC"


def test_fractions_of_a_second_are_said() -> None:
    assert "00:00:00.2" in texts(axis(fl.session("1 s"), 0, 1_000_000))


def test_days_of_a_zone_begin_at_its_midnights_though_one_has_23_hours() -> None:
    some = axis(fl.calendar("day", zone="Europe/Berlin"), "2026-03-27T23:00Z", "2026-03-30T22:00Z")
    days = [tick.time for tick in some.ticks(DIGIT) if tick.text.startswith("Mar")]
    assert [(after - before) // 3_600_000_000 for before, after in pairwise(days)] == [24, 23, 24]


def test_an_hour_that_the_clocks_leave_out_has_no_tick() -> None:
    some = axis(fl.calendar("day", zone="Europe/Berlin"), "2026-03-28T23:00Z", "2026-03-29T05:00Z")
    assert texts(some) == ["00:00", "01:00", "03:00", "04:00", "05:00", "06:00", "07:00"]


def test_months_are_named_with_their_year() -> None:
    some = axis(fl.calendar("month", zone="Europe/Berlin"), "2025-11-30T23:00Z", "2026-02-28T23:00Z")
    assert texts(some) == ["Dec 2025", "Jan 2026", "Feb 2026", "Mar 2026"]


def test_positions_are_whole_numbers() -> None:
    some = axis(fl.counting(3), 1, 5)
    assert texts(some) == ["1", "2", "3", "4", "5"]
    assert some.caption == "position among the records of the key"


@pytest.mark.parametrize("span", [10**power for power in range(1, 17)])
def test_whatever_the_span_there_are_some_ticks_and_they_have_room(span: int) -> None:
    some = axis(fl.session("1 s"), 0, span)
    ticks = some.ticks(DIGIT)
    assert 2 <= len(ticks) <= 800 / DIGIT
    for one, other in pairwise(ticks):
        assert some.x(other.time) - some.x(one.time) > DIGIT * (len(one.text) + len(other.text)) / 2


def test_what_is_beyond_the_axis_lies_at_its_ends() -> None:
    some = axis(fl.session("1 s"), 0, 100)
    assert (some.x(START_OF_TIME), some.x(END_OF_TIME)) == (100, 900)
