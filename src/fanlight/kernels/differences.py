"""Which rows of two columns differ. Null equals null and NaN equals NaN, inside lists and structs too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Bools


def changed(before: list[pa.Array], after: list[pa.Array]) -> Bools:
    """Which rows differ in a column.

    >>> nan = float("nan")
    >>> changed([pa.array([[1.0, nan], [2.0], None])], [pa.array([[1.0, nan], [3.0], None])]).tolist()
    [False, True, False]
    """
    differs = np.zeros(len(before[0]), np.bool_)
    for old, new in zip(before, after, strict=True):
        differs |= _column(old, new)
    return differs


def _column(old: pa.Array, new: pa.Array) -> Bools:
    here, there = _is_valid(old), _is_valid(new)
    both = here & there
    differs: Bools = here != there
    if both.any():
        kept = pa.array(both)
        differs[both] = _values(old.filter(kept), new.filter(kept))
    return differs


def _values(old: pa.Array, new: pa.Array) -> Bools:
    """Which of these values differ; none is null itself."""
    kind = old.type
    if pa.types.is_struct(kind):
        return changed(old.flatten(), new.flatten()) if kind.num_fields else np.zeros(len(old), np.bool_)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _lists(old, new)
    same: Bools = pc.equal(old, new).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        same = same | (np.isnan(old.to_numpy()) & np.isnan(new.to_numpy()))
    return ~same


def _lists(old: pa.Array, new: pa.Array) -> Bools:
    lengths = pc.list_value_length(old).to_numpy()
    differs: Bools = lengths != pc.list_value_length(new).to_numpy()
    alike = np.flatnonzero(~differs)
    rows = np.repeat(alike, lengths[alike])
    inside = _column(old.take(pa.array(alike)).flatten(), new.take(pa.array(alike)).flatten())
    differs[rows[inside]] = True
    return differs


def _is_valid(column: pa.Array) -> Bools:
    valid: Bools = column.is_valid().to_numpy(zero_copy_only=False)
    return valid
