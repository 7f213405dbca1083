"""Two lists of rows, before and after, as changes of the row that each rank has.

before   a b c        rank 1  a      stays, and says nothing
after    a d          rank 2  -U b   +U d
                      rank 3  -D c
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.differences import changed
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.firing import Op


@dataclass(frozen=True, slots=True)
class RankChanges:
    """Changes as columns: of which lists each is, the rank, the operation, the row."""

    owners: Ints
    ranks: Ints
    ops: Ints
    rows: pa.Array


def listed(lists: pa.Array) -> tuple[Ints, Ints, pa.Array]:
    """The rows of lists, one after the other: the list of each, its place there from 0, and itself.

    >>> [part.tolist() for part in listed(pa.array([[7, 8], [], [9]]))]
    [[0, 0, 2], [0, 1, 0], [7, 8, 9]]
    """
    sizes = sizes_of(lists)
    owners = np.repeat(np.arange(len(lists)), sizes)
    return owners, np.arange(len(owners)) - (np.cumsum(sizes) - sizes)[owners], lists.flatten()


def rank_changes(before: pa.Array, after: pa.Array) -> RankChanges:
    """What has changed from each list in `before` to the one in `after`, rank by rank; ranks count from 1.

    >>> found = rank_changes(pa.array([["a", "b", "c"]]), pa.array([["a", "d"]]))
    >>> found.ranks.tolist(), [Op(op).code for op in found.ops], found.rows.to_pylist()
    ([2, 2, 3], ['-U', '+U', '-D'], ['b', 'd', 'c'])
    """
    sizes, new_sizes = sizes_of(before), sizes_of(after)
    longest = np.maximum(sizes, new_sizes)
    owners = np.repeat(np.arange(len(before)), longest)
    places = np.arange(len(owners)) - (np.cumsum(longest) - longest)[owners]
    had, has = places < sizes[owners], places < new_sizes[owners]
    old, new = before.flatten(), after.flatten()
    old_places = (np.cumsum(sizes) - sizes)[owners] + places
    new_places = (np.cumsum(new_sizes) - new_sizes)[owners] + places
    both = np.flatnonzero(had & has)
    stays = both[~changed([old.take(pa.array(old_places[both]))], [new.take(pa.array(new_places[both]))])]
    had[stays] = has[stays] = False
    counts = had.astype(np.int64) + has
    told = np.repeat(np.arange(len(owners)), counts)
    is_old = had[told]
    is_old[1:] &= told[1:] != told[:-1]
    replaced = had[told] & has[told]
    ops = np.where(
        is_old,
        np.where(replaced, int(Op.RETRACT), int(Op.DELETE)),
        np.where(replaced, int(Op.UPDATE), int(Op.INSERT)),
    )
    rows = pa.concat_arrays([old, new]).take(pa.array(np.where(is_old, old_places[told], len(old) + new_places[told])))
    return RankChanges(owners[told], places[told] + 1, ops, rows)


def sizes_of(lists: pa.Array) -> Ints:
    """How many values each list has."""
    sizes: Ints = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes
