"""Hashes of rows, out of the hashes of their values: equal rows have equal hashes, on every machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fanlight.kernels.aggregates.hash64 import hashes, is_hashed

_PRIME = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(columns: list[pa.Array], rows: int) -> NDArray[np.uint64]:
    """The hash of each row over these columns; values are equal as keys are: null to null, NaN to NaN."""
    mixed = np.zeros(rows, np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed = (mixed ^ _hashed(column)) * _PRIME
            mixed ^= mixed >> np.uint64(32)
    return mixed


def _hashed(column: pa.Array) -> NDArray[np.uint64]:
    """The hash of each value; 0 for a null, and for what has no hash."""
    found = np.zeros(len(column), np.uint64)
    if is_hashed(column.type):
        found[column.is_valid().to_numpy(zero_copy_only=False)] = hashes(column.drop_null())
    return found
