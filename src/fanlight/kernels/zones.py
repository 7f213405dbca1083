"""A time zone as a table: since when its clocks have been how far ahead of UTC, and which local day that makes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fanlight.kernels.groups import Ints
from fanlight.kernels.zone_files import read_zone, zone_file
from fanlight.kernels.zone_rules import Rule

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_EVER = 2**62
"""Beyond every time: the first offset has held since its negative, the last one holds until it."""
_YEARS = np.arange(1, 10_001)
"""The years a rule is written out for: all that a record can be in, and one more for where its window ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """The clocks of one zone. Times are microseconds of UTC, days are counted from 1970-01-01.

    A local day begins with the first instant that shows its date, and lasts until the next one begins. So clocks put
    back over midnight bring no day back, and a day that is left out (Samoa's 2011-12-30) ends where it begins.

        clocks   23:00     0:00 0:01┊23:01     0:00      put back an hour at 0:01 on the 30th
        day      ───29─────┤──────────────30───────
    """

    instants: Ints
    """Since when each offset has held."""
    offsets: Ints
    before: Ints
    """The last day that had begun when an offset came."""
    reached: Ints
    """The last day that has begun when it goes."""

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
        """The local day that has begun last at each time."""
        place = np.searchsorted(self.instants, times, "right") - 1
        days: Ints = np.maximum((times + self.offsets[place]) // _DAY, self.before[place])
        return days

    def starts(self, days: Ints) -> Ints:
        """Where each local day begins; one that is left out begins where the next one does."""
        place = np.searchsorted(self.reached, days, "left")
        starts: Ints = np.maximum(self.instants[place], days * _DAY - self.offsets[place])
        return starts
