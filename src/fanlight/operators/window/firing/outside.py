"""Values that do not fit their types. The columns have null in their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fanlight.kernels.grouping.groups import Bools, Ints


@dataclass(frozen=True, slots=True)
class Outside:
    """Among `count` rows, the values that do not fit their types. It is false if there are none, as most often."""

    count: int
    exact: dict[int, dict[int, Any]] = field(default_factory=dict)
    """The exact text of such a value: by row, then by the place of its aggregate."""

    def __bool__(self) -> bool:
        return bool(self.exact)

    @property
    def rows(self) -> Ints:
        """The rows that have such a value, ascending."""
        return np.array(sorted(self.exact), np.int64)

    @property
    def fits(self) -> Bools:
        """Which rows have none."""
        fits = np.ones(self.count, np.bool_)
        fits[self.rows] = False
        return fits

    def take(self, rows: Ints) -> Outside:
        """The rows at `rows`, in that order."""
        if not self.exact:
            return Outside(len(rows))
        places = enumerate(rows.tolist())
        return Outside(len(rows), {place: self.exact[row] for place, row in places if row in self.exact})

    def part(self, start: int, end: int) -> Outside:
        """The rows from `start` up to `end`."""
        return self.take(np.arange(start, end))

    @staticmethod
    def concat(parts: list[Outside]) -> Outside:
        """The rows of several, one after the other."""
        count = 0
        exact: dict[int, dict[int, Any]] = {}
        for part in parts:
            exact |= {count + row: words for row, words in part.exact.items()}
            count += part.count
        return Outside(count, exact)
