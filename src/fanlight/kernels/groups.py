"""Rows gathered into groups: the one shape every reduction works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Column = NDArray[Any] | pa.Array
"""One column of partials: NumPy where the type has a fixed width, Arrow where it has not."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Each row's group: `codes[i]` is the group of row i, from 0 up to `count`."""

    codes: Ints
    count: int

    def sizes(self) -> Ints:
        """How many rows each group has."""
        return np.bincount(self.codes, minlength=self.count).astype(np.int64, copy=False)

    def where(self, mask: Bools) -> Groups:
        """The same groups over the rows that `mask` keeps."""
        return Groups(self.codes[mask], self.count)


def runs(ordered: Ints) -> Ints:
    """Where runs of equal numbers start, and the end: run i is `ordered[runs[i] : runs[i + 1]]`.

    >>> runs(np.array([7, 7, 9])).tolist()
    [0, 2, 3]
    """
    if not len(ordered):
        return np.zeros(1, np.int64)
    return np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1, [len(ordered)]])
