"""Windows that have no number: their end stands for it, so that closing and expiry work as for those that have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fanlight.kernels.groups import Ints
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW, Slicing
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True)
class ByEnd(Slicing):
    """Unaligned windows: known by where they end. Where they start, each pane says itself.

    Windows over the positions of a key have ends that no watermark reaches, before the end of time.
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
        raise NotImplementedError("an unaligned window's start is in its pane")

    def last_ending_by(self, times: Ints) -> Ints:
        return np.where(times >= END_OF_TIME, EVERY_WINDOW, times if self.by_watermark else NO_WINDOW)
