"""A time zone as a table of clock changes: it finds the local day of each instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.zones.posix_rule import Rule
from fanlight.kernels.zones.tzif import read_zone, zone_file

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_EVER = 2**62
"""Beyond every time: the first offset holds from its negative on, the last one until it."""
_YEARS = np.arange(1, 10_001)
"""The years a rule is written out for: all that a record can be in, and one more for where its window ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """The clocks of one zone. Times are microseconds of UTC, days are counted from 1970-01-01.

    A local day begins with the first instant that shows its date, and lasts until the next one begins. So setting
    clocks back over midnight does not repeat a day, and a skipped day (Samoa's 2011-12-30) ends where it begins.

        clocks   23:00     0:00 0:01┊23:01     0:00      put back an hour at 0:01 on the 30th
        day      ───29─────┤──────────────30───────
    """

    instants: Ints
    """When each offset begins to hold."""
    offsets: Ints
    before: Ints
    """The last day that had begun when each offset began."""
    reached: Ints
    """The last day that has begun when each offset ends."""

    @staticmethod
    @lru_cache(maxsize=64)
    def named(name: str) -> Zone:
        """The zone of that name."""
        return Zone.of_file(zone_file(name))

    @staticmethod
    def of_file(data: bytes) -> Zone:
        """The zone that a TZif file describes."""
        changes, offsets, rule = read_zone(data)
        after, then = Rule.of(rule).transitions(_YEARS)
        later = after > changes[-1] if len(changes) else np.ones(len(after), np.bool_)
        instants = np.concatenate([[-_EVER], changes * _SECOND, after[later] * _SECOND])
        offsets = np.concatenate([offsets, then[later]]) * _SECOND
        last_days = (np.append(instants[1:], _EVER) - 1 + offsets) // _DAY
        reached = np.maximum.accumulate(last_days)
        return Zone(instants, offsets, np.append(-_EVER, reached[:-1]), reached)

    def days(self, times: Ints) -> Ints:
        """The local day of each time: the last one that has begun."""
        place = np.searchsorted(self.instants, times, "right") - 1
        days: Ints = np.maximum((times + self.offsets[place]) // _DAY, self.before[place])
        return days

    def starts(self, days: Ints) -> Ints:
        """Where each local day begins; a skipped day begins where the next one does."""
        place = np.searchsorted(self.reached, days, "left")
        starts: Ints = np.maximum(self.instants[place], days * _DAY - self.offsets[place])
        return starts
