"""Count the windows that records missed because the windows had expired."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, Slicing


def missed_windows(slicing: Slicing, slices: Ints, expired: Ints, dead: Bools | None = None) -> int:
    """How many windows these records missed: those up to `expired`, and all windows of the `dead`.

    `expired` is the last window that had expired, one for all records or one for each. A record whose windows have
    all expired need not be marked in `dead`.
    """
    if dead is None and len(expired) == 1:
        slices = slices[_late(slicing, slices, int(expired[0]))]
    if not len(slices):
        return 0
    first, last = slicing.windows(slices)
    through = np.minimum(last, expired)
    if dead is not None:
        through = np.where(dead, last, through)
    return int(np.maximum(through - first + 1, 0).sum())


def missed_by_rows(slicing: Slicing, slices: Ints, records: Ints, expired: int) -> int:
    """The same for rows that stand for several `records` each."""
    late = _late(slicing, slices, expired)
    first, last = slicing.windows(slices[late])
    missed = np.maximum(np.minimum(last, expired) - first + 1, 0)
    return int((missed * records[late]).sum())


def _late(slicing: Slicing, slices: Ints, expired: int) -> Bools | slice:
    """Which slices can have a window up to `expired`."""
    if not len(slices) or slicing.windows(slices.min(keepdims=True))[0][0] > expired:
        return slice(0, 0)
    return slice(None) if expired >= EVERY_WINDOW else slices <= slicing.members(expired)[1]
