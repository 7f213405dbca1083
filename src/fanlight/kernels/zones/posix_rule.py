"""The yearly clock changes of a zone: the rule at the end of a TZif file, in the format of POSIX TZ.

CET-1CEST,M3.5.0,M10.5.0/3       an hour ahead; in summer two, from the last Sunday of March at 2:00
                                 to the last Sunday of October at 3:00
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fanlight.errors import SpecError
from fanlight.kernels.grouping.groups import Ints

_HOUR = 3_600
_DAY = 24 * _HOUR
_NAME = r"(?:[A-Za-z]{3,}|<[^>]+>)"
_CLOCK = r"[+-]?\d+(?::\d+){0,2}"
_DATE = rf"(M\d+\.\d+\.\d+|J\d+|\d+)(?:/({_CLOCK}))?"
_RULE = re.compile(rf"{_NAME}({_CLOCK})(?:{_NAME}({_CLOCK})?,{_DATE},{_DATE})?")


@dataclass(frozen=True, slots=True)
class ClockChange:
    """One clock change: a day of the year and the seconds after its midnight, by the clock before the change."""

    day: str
    after: int

    def instants(self, years: Ints) -> Ints:
        """The instant of the change in each year, by that clock."""
        return self._days(years) * _DAY + self.after

    def _days(self, years: Ints) -> Ints:
        if self.day[0] != "M":
            new_year, march = _first_of(years, 1), _first_of(years, 3)
            if self.day[0] != "J":
                return new_year + int(self.day)
            number = int(self.day[1:])  # February 29 is not counted, so March 1 is always the 60th
            return new_year + number - 1 if number < 60 else march + number - 60
        month, week, weekday = map(int, self.day[1:].split("."))
        first = _first_of(years, month)
        found: Ints = first + (weekday - (first + 4)) % 7 + 7 * (week - 1)  # day 0 was a Thursday
        return np.where(found >= _first_of(years, month + 1), found - 7, found)  # the fifth means the last


@dataclass(frozen=True, slots=True)
class Rule:
    """The offsets from UTC in standard time and in summer, in seconds; and when summer time starts and ends."""

    standard: int
    summer: int | None = None
    begins: ClockChange = ClockChange("0", 0)
    ends: ClockChange = ClockChange("0", 0)

    @staticmethod
    def of(text: str) -> Rule:
        """Read a rule; an empty one means that clocks never change again.

        >>> Rule.of("<-03>3").standard
        -10800
        """
        if not text:
            return Rule(0)
        match = _RULE.fullmatch(text)
        if match is None:
            raise SpecError(f"Calendar: the rule {text!r} of this `zone` cannot be read. Reinstall `tzdata`.")
        west, west_in_summer, begins, begins_at, ends, ends_at = match.groups()
        standard = -_seconds(west)
        if begins is None:
            return Rule(standard)
        summer = standard + _HOUR if west_in_summer is None else -_seconds(west_in_summer)
        return Rule(
            standard,
            summer,
            ClockChange(begins, _seconds(begins_at or "2")),
            ClockChange(ends, _seconds(ends_at or "2")),
        )

    def transitions(self, years: Ints) -> tuple[Ints, Ints]:
        """The clock changes of these years in UTC seconds, ascending; and the offset after each."""
        if self.summer is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        begins, ends = self.begins.instants(years) - self.standard, self.ends.instants(years) - self.summer
        instants = np.concatenate([ends, begins])  # of two at one instant, the change to summer comes last and wins
        offsets = np.repeat([self.standard, self.summer], len(years))
        order = np.argsort(instants, kind="stable")
        return instants[order], offsets[order]


def _seconds(clock: str) -> int:
    """Hours, minutes and seconds such as -3:30."""
    parts = [int(part) for part in clock.lstrip("+-").split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (_HOUR, 60, 1), strict=False))
    return -seconds if clock.startswith("-") else seconds


def _first_of(years: Ints, month: int) -> Ints:
    """The first day of a month of each year; month 13 is January of the next."""
    months = (years - 1970) * 12 + month - 1
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
