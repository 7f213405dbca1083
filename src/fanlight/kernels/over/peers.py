"""Rows of one time: their order by other columns, and which of them are equal in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Bools, Ints, encode_in_order


def ordered_ranks(column: pa.Array, *, descending: bool) -> Ints:
    """A number for each value, in the order of the values; null is last either way.

    >>> ordered_ranks(pa.array([3, None, 5]), descending=True).tolist()
    [1, 2, 0]
    """
    codes: Ints = encode_in_order([column], len(column)).codes.astype(np.int64)
    if not descending or not len(codes):
        return codes
    ranks: Ints = codes.max() - codes
    if column.null_count:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        ranks[nulls] = codes.max() + 1
        ranks -= ranks.min()
    return ranks


def order_within_times(times: Ints, ranks: Sequence[Ints]) -> Ints | None:
    """The order of rows, which come ordered by time, by these ranks within each time; None if they are in it."""
    if not ranks or not len(times) or not (times[1:] == times[:-1]).any():
        return None
    order: Ints = np.lexsort([*reversed(ranks), times])
    return order


def differs_from_before(columns: Sequence[Ints]) -> Bools:
    """Whether each row differs from the one before it in one of these columns; the first one does."""
    heads = np.zeros(len(columns[0]), np.bool_)
    heads[:1] = True
    for column in columns:
        heads[1:] |= column[1:] != column[:-1]
    return heads
