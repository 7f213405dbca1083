"""The first and the last offset of windows: the least and the greatest of the messages that they have."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import Ints
from fanlight.operators.window.plan import Plan

OFFSETS = [pa.field("first_offset", pa.int64()), pa.field("last_offset", pa.int64())]
"""The columns that windows have for their offsets."""

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

Extremes = list[pa.Array]
"""The first and the last offset of each window; null where none of its messages has one."""


def offset_fields(plan: Plan) -> list[pa.Field]:
    """The columns that retained windows have for their offsets: none, unless the pipeline keeps offsets."""
    return OFFSETS if plan.spec.offsets is not None else []


def offset_column(plan: Plan, messages: pa.RecordBatch) -> pa.Array:
    """The offsets of messages."""
    return messages.column(f"v.{plan.spec.offsets}").cast(pa.int64())


def extremes(offsets: pa.Array, windows: Ints, count: int) -> Extremes:
    """The first and last offset of each of `count` windows, given the window of each offset."""
    known = offsets.is_valid().to_numpy(zero_copy_only=False)
    numbers, windows = offsets.drop_null().to_numpy(), windows[known]
    first, last = np.full(count, _GREATEST), np.full(count, _LEAST)
    np.minimum.at(first, windows, numbers)
    np.maximum.at(last, windows, numbers)
    return _found(first, last)


def extremes_of_ranges(offsets: pa.Array, low: Ints, high: Ints) -> Extremes:
    """The first and last of the offsets `[low, high)` of each window; ranges may overlap."""
    bounds = np.stack([low, high], axis=1).ravel()
    sides = []
    for reduce, nothing in ((np.minimum, _GREATEST), (np.maximum, _LEAST)):
        numbers = np.append(pc.fill_null(offsets, nothing).to_numpy(), nothing)
        found = reduce.reduceat(numbers, bounds)[::2] if len(bounds) else np.zeros(0, np.int64)
        sides.append(np.where(low < high, found, nothing))
    return _found(*sides)


def _found(first: Ints, last: Ints) -> Extremes:
    missing = first > last
    return [pa.array(side, mask=missing) for side in (first, last)]
