"""When clocks will be changed, year after year: the rule at the end of a TZif file, as POSIX writes it in TZ.

CET-1CEST,M3.5.0,M10.5.0/3       an hour ahead; in summer two, from the last Sunday of March at 2:00
                                 to the last Sunday of October at 3:00
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from fanlight.errors import SpecError
from fanlight.kernels.groups import Ints

_HOUR = 3_600
_DAY = 24 * _HOUR
_NAME = r"(?:[A-Za-z]{3,}|<[^>]+>)"
_CLOCK = r"[+-]?\d+(?::\d+){0,2}"
_DATE = rf"(M\d+\.\d+\.\d+|J\d+|\d+)(?:/({_CLOCK}))?"
_RULE = re.compile(rf"{_NAME}({_CLOCK})(?:{_NAME}({_CLOCK})?,{_DATE},{_DATE})?")


@dataclass(frozen=True, slots=True)
class Change:
    """A day of the year and the seconds after its midnight, by the clock that is changed."""

    day: str
    after: int

    def instants(self, years: Ints) -> Ints:
        """When it is in each year, by that clock."""
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
    """Seconds ahead of UTC, in standard time and in summer; and from when to when summer is."""

    standard: int
    summer: int | None = None
    begins: Change = Change("0", 0)
    ends: Change = Change("0", 0)

    @staticmethod
    def of(text: str) -> Rule:
        """Read a rule; where there is none, nothing will ever change.

        >>> Rule.of("<-03>3").standard
        -10800
        """
        if not text:
            return Rule(0)
        match = _RULE.fullmatch(text)
        if match is None:
            raise SpecError(f"Calendar: the rule {text!r} of this `zone` cannot be read. Install `tzdata` anew.")
        west, west_in_summer, begins, begins_at, ends, ends_at = match.groups()
        standard = -_seconds(west)
        if begins is None:
            return Rule(standard)
        summer = standard + _HOUR if west_in_summer is None else -_seconds(west_in_summer)
        return Rule(
            standard, summer, Change(begins, _seconds(begins_at or "2")), Change(ends, _seconds(ends_at or "2"))
        )

    def transitions(self, years: Ints) -> tuple[Ints, Ints]:
        """When clocks are changed in these years, in seconds of UTC, ascending; and how far ahead they are then."""
        if self.summer is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        begins, ends = self.begins.instants(years) - self.standard, self.ends.instants(years) - self.summer
        instants = np.concatenate([ends, begins])  # so that of two at one instant summer comes last, and holds
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
