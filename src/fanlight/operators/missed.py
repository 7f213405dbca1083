"""How many windows records missed because these had expired: nothing to count where nothing comes late."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.groups import Bools, Ints
from fanlight.kernels.slicing import Slicing
from fanlight.operators.folded import Folded, FoldedSlices


def missed_windows(slicing: Slicing, slices: Ints, expired: Ints, dead: Bools | None = None) -> int:
    """The windows of records, by their slices, that are `expired` or before; all of those of the `dead`.

    `expired` is the last window that had expired, one for all or one a record.
    """
    return int(_missed(slicing, slices, expired, dead).sum())


def missed_by_folded(slicing: Slicing, folded: Folded, expired: int) -> int:
    """The same for records that came folded. Sessions are folded only where none can miss its own."""
    if not isinstance(folded, FoldedSlices):
        return 0
    missed = _missed(slicing, folded.slices, np.array([expired]), None)
    return int((missed * folded.partials.rows).sum()) if len(missed) else 0


def _missed(slicing: Slicing, slices: Ints, expired: Ints, dead: Bools | None) -> Ints:
    """How many windows each missed; empty if none did."""
    if dead is None and (not len(slices) or _first(slicing, slices) > expired.max()):
        return np.zeros(0, np.int64)
    first, last = slicing.windows(slices)
    through = np.minimum(last, expired)
    if dead is not None:
        through = np.where(dead, last, through)
    missed: Ints = np.maximum(through - first + 1, 0)
    return missed


def _first(slicing: Slicing, slices: Ints) -> int:
    """The first window of all: those of later slices are no earlier."""
    return int(slicing.windows(slices.min(keepdims=True))[0][0])
