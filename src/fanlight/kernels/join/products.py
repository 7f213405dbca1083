"""All combinations of what several lists have for each of many groups: their product, group by group.

group   one list    another         combinations
  0     a b         x               a x   b x
  1     c           (none)          (none)
  2     d           y z             d y   d z
"""

from __future__ import annotations

import numpy as np

from fanlight.kernels.grouping.groups import Ints


def products(counts: list[Ints]) -> tuple[Ints, list[Ints]]:
    """The group of each combination, and which entry of each list it has; `counts` are by list, then by group.

    Combinations stand in the order of the groups, then of the first list, then of the next.

    >>> groups, entries = products([np.array([2, 1, 1]), np.array([1, 0, 2])])
    >>> groups.tolist(), [entry.tolist() for entry in entries]
    ([0, 0, 2, 2], [[0, 1, 0, 0], [0, 0, 0, 1]])
    """
    sizes: Ints = np.prod(counts, axis=0, dtype=np.int64)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entries = []
    for count in reversed(counts):
        rank, entry = np.divmod(rank, count[groups])
        entries.append(entry)
    return groups, entries[::-1]
