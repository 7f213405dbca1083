"""How many windows records missed because these had expired: nothing to count where nothing comes late."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.slicing import EVERY_WINDOW, Slicing
from fanlight.operators.folded import Folded, FoldedSlices


def missed_windows(slicing: Slicing, slices: Ints, expired: Ints, dead: Bools | None = None) -> int:
    """How many windows of records, by their slices, are `expired` or before; with all of those of the `dead`.

    `expired` is the last window that had expired, one for all or one a record. Where all windows of a record have, it
    need not be among the dead.
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


def missed_by_folded(slicing: Slicing, folded: Folded, expired: int) -> int:
    """The same for records that came folded. Sessions are folded only where none can miss its own."""
    if not isinstance(folded, FoldedSlices):
        return 0
    late = _late(slicing, folded.slices, expired)
    first, last = slicing.windows(folded.slices[late])
    missed = np.maximum(np.minimum(last, expired) - first + 1, 0)
    return int((missed * folded.partials.rows[late]).sum())


def _late(slicing: Slicing, slices: Ints, expired: int) -> Bools | slice:
    """Which slices can have a window up to `expired`: no later one than its last."""
    if not len(slices) or slicing.windows(slices.min(keepdims=True))[0][0] > expired:
        return slice(0, 0)
    return slice(None) if expired >= EVERY_WINDOW else slices <= slicing.members(expired)[1]
