"""Cumulating windows: they start together and end one step after the other.

    size 3 steps     0    1    2    3    4
    windows          [-0--)
                     [----1----)
                     [-------2------)
                                    [-3--)
    slices           |-0--|-1--|-2--|-3--|

A slice is one step, and window w ends with slice w. So windows are numbered by their ends, like all others. Only their
first slice differs: it jumps once for each size, while that of a hopping window moves by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, FAR, NO_WINDOW, Slicing
from fanlight.model.semantics import Semantics
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.windows.cumulating import Cumulating


@dataclass(frozen=True)
class Cumulative(Slicing):
    """Cumulating windows: window w ends at `(w + 1) * step` and holds the slices since its size began."""

    step: int
    offset: int
    earliest: int
    width: int
    """How many steps fill a window."""
    slides: bool = False

    @classmethod
    def of_kind(cls, window: Cumulating, semantics: Semantics) -> Cumulative:
        """The slicing of cumulating windows."""
        size, step = window.size.micros, window.step.micros
        offset, width = window.offset.micros % size, size // step
        start = semantics.earliest_start
        earliest = NO_WINDOW if start is None else -((offset - start) // size) * width
        return cls(step, offset, earliest, width)

    def slices(self, times: Ints) -> Ints:
        return (times - self.offset) // self.step

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return np.maximum(slices, self.earliest), (slices // self.width + 1) * self.width - 1

    def members(self, window: int) -> tuple[int, int]:
        return window // self.width * self.width, window

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        first = windows // self.width * self.width
        return first * self.step + self.offset, (windows + 1) * self.step + self.offset

    def last_ending_by(self, times: Ints) -> Ints:
        within = np.clip(times, -FAR, FAR)  # so that subtracting cannot wrap
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, (within - self.offset) // self.step - 1)
