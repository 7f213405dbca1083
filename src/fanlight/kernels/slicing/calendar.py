"""The days, weeks, months, quarters and years of a time zone; number 0 contains 1970-01-01."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, FAR, NO_WINDOW, Slicing
from fanlight.kernels.zones.zone import Zone
from fanlight.model.semantics import Semantics
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.windows.calendar import Calendar, CalendarUnit

_MONTHS = {CalendarUnit.MONTH: 1, CalendarUnit.QUARTER: 3, CalendarUnit.YEAR: 12}
_TO_MONDAY = 3
"""1970-01-01 was a Thursday: its week began three days before."""


@dataclass(frozen=True)
class CalendarUnits(Slicing):
    """Calendar windows: each is its own slice, and starts where its first local day begins (see `Zone`)."""

    unit: CalendarUnit
    zone: Zone
    earliest: int = NO_WINDOW
    width: int = 1

    @classmethod
    def of_kind(cls, window: Calendar, semantics: Semantics) -> CalendarUnits:
        """The slicing of calendar windows."""
        units = cls(window.unit, Zone.named(window.zone))
        if semantics.earliest_start is None:
            return units
        start = np.array([np.clip(semantics.earliest_start, -FAR, FAR)])
        begun = units.slices(start)
        earliest = int(begun[0] + (units.bounds(begun)[0] < start)[0])
        return cls(units.unit, units.zone, earliest)

    def slices(self, times: Ints) -> Ints:
        if not len(times):
            return times
        low, high = self._units(self.zone.days(np.array([times.min(), times.max()]))).tolist()
        if high - low >= len(times):
            return self._units(self.zone.days(times))
        # the times of a bundle are close together, so one unit or a few hold them all
        starts = self.zone.starts(self._first_days(np.arange(low + 1, high + 1)))
        return np.full(len(times), low) if low == high else low + np.searchsorted(starts, times, "right")

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return np.maximum(slices, self.earliest), slices

    def members(self, window: int) -> tuple[int, int]:
        return window, window

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return self.zone.starts(self._first_days(windows)), self.zone.starts(self._first_days(windows + 1))

    def last_ending_by(self, times: Ints) -> Ints:
        begun = self.slices(np.clip(times, -FAR, FAR))
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, begun - 1)

    def _units(self, days: Ints) -> Ints:
        """The unit that each day is in."""
        if self.unit is CalendarUnit.DAY:
            return days
        if self.unit is CalendarUnit.WEEK:
            return (days + _TO_MONDAY) // 7
        months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        return months // _MONTHS[self.unit]

    def _first_days(self, units: Ints) -> Ints:
        """The first day of each unit."""
        if self.unit is CalendarUnit.DAY:
            return units
        if self.unit is CalendarUnit.WEEK:
            return units * 7 - _TO_MONDAY
        months = (units * _MONTHS[self.unit]).astype("datetime64[M]")
        return months.astype("datetime64[D]").astype(np.int64)
