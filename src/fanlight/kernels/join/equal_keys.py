"""Which keys are equal, as SQL compares them: a null equals nothing, NaN equals NaN."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools, Ints

_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


def equal(these: pa.Array, those: pa.Array) -> Bools:
    """Which values are equal, place by place.

    >>> equal(pa.array([1, None, 3]), pa.array([1, None, 4])).tolist()
    [True, False, False]
    """
    if pa.types.is_null(these.type):
        return np.zeros(len(these), np.bool_)
    same = pc.equal(these, those).fill_null(False)
    if pa.types.is_floating(these.type):
        same = pc.or_(same, pc.and_(pc.is_nan(these), pc.is_nan(those)).fill_null(False))
    found: Bools = same.to_numpy(zero_copy_only=False)
    return found


def equal_at(these: pa.Array, those: pa.Array, left: Ints, right: Ints) -> Bools:
    """Which of `these` at `left` are equal to those at `right`.

    Texts that are looked at often are numbered first: numbers are moved and compared faster.

    >>> equal_at(pa.array(["a", "b"]), pa.array(["b", None]), np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [False, True, False]
    """
    if any(is_one(these.type) for is_one in _TEXTS) and 2 * len(left) >= len(these) + len(those):
        own, other = these.dictionary_encode(), those.dictionary_encode()
        known = pc.index_in(other.dictionary, own.dictionary)
        same: Bools = _numbers(own.indices, -1)[left] == _numbers(known.take(other.indices), -2)[right]
        return same
    return equal(these.take(pa.array(left)), those.take(pa.array(right)))


def _numbers(indices: pa.Array, nothing: int) -> Ints:
    """Numbers as NumPy has them, `nothing` in the place of nulls."""
    numbers: Ints = indices.fill_null(nothing).to_numpy()
    return numbers
