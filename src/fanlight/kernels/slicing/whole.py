"""The whole of time as one window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, Slicing
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True)
class Whole(Slicing):
    """The global window: one slice, one window, number 0."""

    width: int = 1

    def slices(self, times: Ints) -> Ints:
        return np.zeros(len(times), np.int64)

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return slices, slices

    def members(self, window: int) -> tuple[int, int]:
        return 0, 0

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return np.full(len(windows), START_OF_TIME), np.full(len(windows), END_OF_TIME)

    def last_ending_by(self, times: Ints) -> Ints:
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, NO_WINDOW)
