"""Windows of one size that start at a fixed period: tumbling, hopping, and counting over the whole stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, FAR, NO_WINDOW, Slicing
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp


@dataclass(frozen=True)
class Periodic(Slicing):
    """Windows of one size that start every `every`: tumbling and hopping.

    Where `every` divides `size`, a slice is one `every` long. Where it does not, each period is cut in two at the
    `remainder`, because windows end there: slices are then numbered 2k and 2k + 1.
    """

    size: int
    every: int
    offset: int
    earliest: int
    width: int

    @classmethod
    def cut(cls, size: int, every: int, offset: int, earliest_start: Timestamp | None) -> Periodic:
        """The slicing for windows of `size` every `every`."""
        offset %= every
        earliest = NO_WINDOW if earliest_start is None else -((offset - earliest_start) // every)
        width = size // every if size % every == 0 else 2 * (size // every) + 1
        return cls(size, every, offset, earliest, width)

    @property
    def remainder(self) -> int:
        """Where a period is cut in two; 0 if it is not."""
        return self.size % self.every

    def slices(self, times: Ints) -> Ints:
        since = times - self.offset if self.offset else times
        periods: Ints = since // self.every
        if not self.remainder:
            return periods
        return 2 * periods + (since - periods * self.every >= self.remainder)

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        if self.remainder:
            first, last = -((self.width - 1 - slices) // 2), slices // 2
        else:
            first, last = slices - (self.width - 1), slices
        return np.maximum(first, self.earliest), last

    def members(self, window: int) -> tuple[int, int]:
        first = 2 * window if self.remainder else window
        return first, first + self.width - 1

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        starts = windows * self.every + self.offset
        return starts, starts + self.size

    def last_ending_by(self, times: Ints) -> Ints:
        within = np.minimum(np.maximum(times, -FAR), FAR)  # so that subtracting cannot wrap
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, (within - (self.offset + self.size)) // self.every)
