"""Records that came folded: what a row of them is for windows that all keys share, and for sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import END_OF_TIME
from fanlight.model.triggers import Every
from fanlight.model.windows import TimeDomain


@dataclass(frozen=True, slots=True)
class FoldedSlices:
    """Accepted records by slice and key, ordered by slice; a pair may occur more than once."""

    slices: Ints
    keys: list[pa.Array]
    partials: Partials
    least: Ints | None
    """The least time of each row's records, where the trigger asks for it."""

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def records(self) -> int:
        """How many records these are."""
        return int(self.partials.rows.sum())


@dataclass(frozen=True, slots=True)
class Stretches:
    """Records of sessions, in no order: each row is of one key, and its records' intervals hang together.

        records    [----)[----)        [----)
                      [----)
        rows       [----------)        [----)

    A row starts with its first record and ends where the last of its intervals does. Rows of one key may overlap.
    """

    starts: Ints
    ends: Ints
    keys: list[pa.Array]
    partials: Partials

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def records(self) -> int:
        """How many records these are."""
        return int(self.partials.rows.sum())

    def where(self, mask: Bools) -> Stretches:
        """The rows that `mask` keeps."""
        rows = np.flatnonzero(mask)
        if 0 < len(rows) < len(mask):
            return self.take(rows)
        return self if len(rows) else self.none()

    def none(self) -> Stretches:
        """None of the rows."""
        keys = [column.slice(0, 0) for column in self.keys]
        return Stretches(self.starts[:0], self.ends[:0], keys, self.partials.part(0, 0))

    def take(self, rows: Ints) -> Stretches:
        """The rows at `rows`, in that order."""
        places = pa.array(rows)
        keys = [column.take(places) for column in self.keys]
        return Stretches(self.starts[rows], self.ends[rows], keys, self.partials.take(rows))

    @staticmethod
    def concat(parts: list[Stretches]) -> Stretches:
        """The rows of several, one after the other."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return Stretches(
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
            [pa.concat_arrays(same) for same in zip(*(part.keys for part in parts), strict=True)],
            Partials.concat([part.partials for part in parts]),
        )


Folded = FoldedSlices | Stretches
"""What a shard takes in beside records."""


def wants_times(spec: WindowSpec) -> bool:
    """Whether the trigger asks for the least time of what came."""
    return any(isinstance(part, Every) and part.domain is TimeDomain.EVENT for part in spec.trigger.walk())


def least_times(times: Ints, groups: Groups) -> Ints:
    """The least time of each group."""
    least = np.full(groups.count, END_OF_TIME)
    np.minimum.at(least, groups.codes, times)
    return least
