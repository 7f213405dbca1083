"""Numbers of any type as the nearest float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.arrow_numpy import to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_EXACT = 2**53
"""Up to here a float64 holds every integer."""

_EXACT_POWER = 22
"""Up to here a float64 holds every power of ten."""


def to_floats(values: pa.Array) -> Floats:
    """Null-free integers, floats or decimals, each as the float64 nearest to it."""
    if not pa.types.is_decimal(values.type):
        return to_numpy(values).astype(np.float64, copy=False)
    floats = _divided(values)
    if floats is None:
        # Arrow's own cast is off in the last place for one value in eight; reading the text is slow, and right.
        floats = values.cast(pa.string()).cast(pa.float64()).to_numpy()
    return floats


def _divided(values: pa.Array) -> Floats | None:
    """Decimals as exact integers over one exact power of ten; None if one of them has no such form."""
    kind = values.type
    if not (len(values) and pa.types.is_decimal128(kind) and 0 <= kind.scale <= _EXACT_POWER):
        return None
    words = np.frombuffer(values.buffers()[1], np.int64, 2 * len(values), 16 * values.offset)
    low, high = words[0::2], words[1::2]
    if (high != low >> 63).any() or low.max() > _EXACT or low.min() < -_EXACT:
        return None
    floats: Floats = low / 10.0**kind.scale
    return floats
