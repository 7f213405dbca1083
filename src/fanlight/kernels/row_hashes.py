"""Hashes of rows, out of the hashes of their values: equal rows have equal hashes, on every machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.aggregates.hash64 import hashes, is_hashed
from fanlight.kernels.grouping.groups import Ints

Hashes = NDArray[np.uint64]

_PRIME = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(columns: list[pa.Array], rows: int) -> Hashes:
    """The hash of each row over these columns; values are equal as keys are: null to null, NaN to NaN."""
    mixed = np.zeros(rows, np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ _hashed(column)) * _PRIME
            mixed ^= mixed >> np.uint64(32)
    return mixed


def order_by_hash(hashes: Hashes) -> Ints:
    """The stable order of hashes. Their first digits and their places are sorted as one number.

    NumPy sorts plain numbers faster than it finds their order, and few hashes have the same first digits.

    >>> order_by_hash(np.array([7, 2, 7], np.uint64)).tolist()
    [1, 0, 2]
    """
    rows = len(hashes)
    bits = np.uint64(max(rows - 1, 1).bit_length())
    packed = hashes >> bits << bits
    packed |= np.arange(rows, dtype=np.uint64)
    packed.sort()
    first = packed >> bits
    if (first[1:] == first[:-1]).any():
        return np.argsort(hashes, kind="stable")
    packed &= (np.uint64(1) << bits) - np.uint64(1)
    return packed.view(np.int64)


def _hashed(column: pa.Array) -> Hashes:
    """The hash of each value; 0 for a null, and for what has no hash."""
    found = np.zeros(len(column), np.uint64)
    if is_hashed(column.type):
        found[column.is_valid().to_numpy(zero_copy_only=False)] = hashes(column.drop_null())
    return found
