"""Windows that records bring with them, such as the results of an earlier stage."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.slicing.slicing import Slicing


@dataclass(frozen=True)
class Assigned(Slicing):
    """Windows that records bring with them: each window is its own slice.

    A record's time is the start of its window; where several windows start together, it is the end.
    """

    among: Slicing
    width: int = 1

    def slices(self, times: Ints) -> Ints:
        if not self.among.slides:
            return self.among.last_ending_by(times)
        return self.among.windows(self.among.slices(times))[1]  # the last of its windows starts there

    def windows(self, slices: Ints) -> tuple[Ints, Ints]:
        return slices, slices

    def members(self, window: int) -> tuple[int, int]:
        return window, window

    def bounds(self, windows: Ints) -> tuple[Ints, Ints]:
        return self.among.bounds(windows)

    def last_ending_by(self, times: Ints) -> Ints:
        return self.among.last_ending_by(times)
