"""The slicing of windows over positions: like that of times, where all keys count together."""

from __future__ import annotations

from fanlight.kernels.slicing.periodic import Periodic
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.kernels.slicing.unsliced import Unsliced
from fanlight.model.semantics import Semantics
from fanlight.model.windows.counting import Counting


def counting_slicing(kind: Counting, _semantics: Semantics) -> Slicing:
    """The slicing of counting windows. Positions start at 1. Windows that each key counts for itself have no slices."""
    return Periodic.cut(kind.size, kind.every, 1, None) if kind.is_aligned else Unsliced(by_watermark=False)
