"""Which row a function takes its value from: the one before, the next, the n-th of a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints

NOWHERE = -1
"""The place of a row that is not there."""


@dataclass(frozen=True, slots=True)
class ValuedRows:
    """The rows that have a value in a column, for functions that pass over nulls; without nulls, all rows."""

    places: Ints
    """Where they are."""
    before: Ints
    """How many come before each row, and before the end."""

    @staticmethod
    def of(values: pa.Array, *, ignore_nulls: bool) -> ValuedRows | None:
        """Those of a column; None if no row is passed over."""
        if not ignore_nulls or not values.null_count:
            return None
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        return ValuedRows(np.flatnonzero(valid), np.concatenate([[0], np.cumsum(valid)]))


def row_before(at: Ints, offset: int, starts: Ints, valued: ValuedRows | None = None) -> Ints:
    """The row `offset` before each; `starts` is where its rows start. None there: -1.

    >>> row_before(np.array([0, 1, 2]), 1, np.array([0, 0, 2])).tolist()
    [-1, 0, -1]
    """
    if not offset:
        return at
    if valued is None:
        return _found(at - offset, at - offset >= starts)
    return _among(valued, valued.before[at] - offset, starts, at)


def row_after(at: Ints, offset: int, ends: Ints, valued: ValuedRows | None = None) -> Ints:
    """The row `offset` after each; `ends` is where its rows end. None there: -1."""
    if not offset:
        return at
    if valued is None:
        return _found(at + offset, at + offset < ends)
    return _among(valued, valued.before[at + 1] + (offset - 1), at + 1, ends)


def nth_row(n: int, at: Ints, low: Ints, high: Ints, *, excluded: Bools, valued: ValuedRows | None = None) -> Ints:
    """The n-th row from `low` on, below `high`, without the row itself where it is `excluded`. None there: -1."""
    if valued is None:
        found = low + (n - 1)
        found = found + ((found >= at) & excluded)
        return _found(found, found < high)
    number = valued.before[low] + (n - 1)
    if excluded.any() and len(valued.places):
        here = valued.places[np.minimum(number, len(valued.places) - 1)]
        number = number + ((here >= at) & _is_valued(valued, at) & excluded)
    return _among(valued, number, low, high)


def last_row(at: Ints, low: Ints, high: Ints, *, excluded: Bools, valued: ValuedRows | None = None) -> Ints:
    """The last row from `low` on, below `high`, without the row itself where it is `excluded`. None there: -1."""
    if valued is None:
        found = high - 1
        found = found - ((found == at) & excluded)
        return _found(found, found >= low)
    number = valued.before[high] - 1
    if excluded.any() and len(valued.places):
        here = valued.places[np.maximum(number, 0)]
        number = number - ((here == at) & (number >= 0) & excluded)
    return _among(valued, number, low, high)


def taken_from(values: pa.Array, places: Ints) -> pa.Array:
    """The values at these places; null where there is no row."""
    return values.take(pa.array(places, mask=places == NOWHERE))


def _is_valued(valued: ValuedRows, at: Ints) -> Bools:
    is_valued: Bools = valued.before[at + 1] > valued.before[at]
    return is_valued


def _among(valued: ValuedRows, numbers: Ints, low: Ints, high: Ints) -> Ints:
    """The rows of these numbers among those with a value, where they lie inside `[low, high)`."""
    if not len(valued.places):
        return np.full(len(numbers), NOWHERE)
    places = valued.places[np.clip(numbers, 0, len(valued.places) - 1)]
    is_there = (numbers >= 0) & (numbers < len(valued.places)) & (places >= low) & (places < high)
    return _found(places, is_there)


def _found(places: Ints, is_there: Bools) -> Ints:
    return np.where(is_there, places, NOWHERE)
