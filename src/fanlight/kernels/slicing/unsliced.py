"""Windows without slices: their end serves as their number, so closing and expiry work as for all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW, Slicing
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True)
class Unsliced(Slicing):
    """Unaligned windows, known by their end. Each pane stores its own start.

    For windows over the positions of a key, no watermark reaches their ends before the end of time.
    """

    by_watermark: bool = True
    width: int = 1

    def slices(self, times: Ints) -> Ints:
        return times

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return slices, np.full(len(slices), EVERY_WINDOW)

    def members(self, window: int) -> tuple[int, int]:
        return START_OF_TIME, END_OF_TIME

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return np.full(len(windows), START_OF_TIME), windows  # a lower bound: the pane knows its real start

    def last_ending_by(self, times: Ints) -> Ints:
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, times if self.by_watermark else NO_WINDOW)
