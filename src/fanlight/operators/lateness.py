"""Which windows a watermark has closed and which it has expired, and which records come too late for all of theirs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.slicing import NO_WINDOW, Slicing
from fanlight.model.counting import Counting
from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME, Timestamp

_FAR = 2**61
_FEW = 8
_RANGE = 1 << 16
"""Up to this many slices, those of a bundle are judged one by one instead of its records."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """The law of closing and expiry, in window numbers.

    window ends      ... 3 ... 4 ... 5 ... 6 ... 7
    watermark                        ^ closed through 5
    minus lateness             ^ expired through 4
    """

    spec: WindowSpec
    slicing: Slicing
    _known: dict[Timestamp, tuple[int, int]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was said last of single watermarks: a step asks several times, and most steps move none."""

    @property
    def judges_records(self) -> bool:
        """Whether a record's own time decides, whatever its windows are."""
        of_times = not isinstance(self.spec.window, Counting)
        return of_times and self.spec.semantics.late_by is LateBy.RECORD and not self.spec.lateness.is_forever

    def closed_through(self, watermark: Timestamp) -> int:
        """The last window that `watermark` closes."""
        return self.through(watermark)[0]

    def expired_through(self, watermark: Timestamp) -> int:
        """The last window that `watermark` expires."""
        return self.through(watermark)[1]

    def through(self, watermark: Timestamp) -> tuple[int, int]:
        """The last windows that `watermark` closes and expires."""
        found = self._known.get(watermark)
        if found is None:
            spec, at = self.spec, np.array([watermark])
            closed = int(self._ended(at, 0, spec.closes_strictly)[0])
            forever = spec.lateness.is_forever
            expired = NO_WINDOW if forever else int(self._ended(at, spec.lateness.micros, spec.expires_strictly)[0])
            found = closed, expired
            if len(self._known) >= _FEW:
                self._known.clear()
            self._known[watermark] = found
        return found

    def expired_by(self, watermarks: Ints) -> Ints:
        """The last window that each watermark expires."""
        if len(watermarks) == 1:
            return np.array([self.expired_through(int(watermarks[0]))])
        if self.spec.lateness.is_forever:
            return np.full(len(watermarks), NO_WINDOW)
        return self._ended(watermarks, self.spec.lateness.micros, self.spec.expires_strictly)

    def fates(self, slices: Ints, expired: int) -> tuple[Bools, Bools] | None:
        """Which slices no window takes, and which have only windows up to `expired`; None if there are none such."""
        if not len(slices):
            return None
        lowest, highest = int(slices.min()), int(slices.max())
        if highest - lowest >= min(_RANGE, len(slices)):
            return self._fates(slices, expired)
        homeless, dead = self._fates(np.arange(lowest, highest + 1), expired)
        if not (homeless.any() or dead.any()):
            return None
        return homeless[slices - lowest], dead[slices - lowest]

    def too_late(self, times: Ints, last: Ints, watermarks: Ints) -> Bools:
        """Which records are dead: all their windows expired, or they themselves are too far behind."""
        if self.judges_records:
            behind = np.minimum(np.maximum(watermarks, -_FAR), _FAR) - self.spec.lateness.micros
            return np.where(watermarks >= END_OF_TIME, True, times < behind)
        return last <= self.expired_by(watermarks)

    def _fates(self, slices: Ints, expired: int) -> tuple[Bools, Bools]:
        first, last = self.slicing.windows(slices)
        return last < first, (last <= expired) & (last >= first)

    def _ended(self, watermarks: Ints, lateness: int, strictly: bool) -> Ints:
        within = np.minimum(np.maximum(watermarks, -_FAR), _FAR) - (lateness + strictly)
        within = np.where(watermarks >= END_OF_TIME, END_OF_TIME, within)
        return np.where(watermarks == START_OF_TIME, NO_WINDOW, self.slicing.last_ending_by(within))
