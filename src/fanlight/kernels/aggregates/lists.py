"""Rows gathered into one list for each group, and lists taken apart into rows, without a loop over groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.sorting import by_group
from fanlight.kernels.grouping.groups import Groups

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Ints


def empty_lists(count: int, kind: pa.DataType) -> pa.Array:
    """`count` empty lists of `kind`."""
    return in_lists(pa.array([], kind), np.zeros(count, np.int64))


def in_lists(rows: pa.Array, sizes: Ints) -> pa.Array:
    """One list for each size, filled from the rows in their order."""
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32())
    return pa.ListArray.from_arrays(offsets, rows, type=pa.list_(rows.type))


def by_groups(rows: pa.Array, groups: Groups) -> pa.Array:
    """One list for each group; within a list the rows keep their order."""
    return in_lists(in_order(rows, groups), groups.sizes())


def in_order(rows: pa.Array, groups: Groups) -> pa.Array:
    """The rows by group; within a group they keep their order."""
    codes = groups.codes
    if (codes[1:] >= codes[:-1]).all():
        return rows
    return rows.take(pa.array(by_group(np.arange(len(codes)), groups)))


def taken_apart(lists: pa.Array, groups: Groups | None = None) -> tuple[pa.Array, Groups]:
    """The rows of lists, list by list, and the group of each row: that of its list, or else the number of its list."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    codes = np.arange(len(lists)) if groups is None else groups.codes
    return lists.flatten(), Groups(np.repeat(codes, lengths), len(lists) if groups is None else groups.count)


def paired(left: pa.Array, right: pa.Array) -> tuple[pa.Array, Groups]:
    """The rows of two columns of lists: group i holds list i of `left`, then list i of `right`."""
    (rows, groups), (other_rows, other_groups) = taken_apart(left), taken_apart(right)
    codes = np.concatenate([groups.codes, other_groups.codes])
    return pa.concat_arrays([rows, other_rows]), Groups(codes, len(left))
