"""Grouping by two numbers at once: (slice, key) or (window, key)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Groups, Ints, ranked
from fanlight.kernels.keys import Codes, densify, encode

_DENSE = 1 << 16


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows grouped by (outer, code); groups are ordered by outer, then code.

    Where most pairs occur, a pair's group is its place in the full rectangle, and the empty ones are dropped at the
    end; where few do, the pairs that occur are numbered first.

        outer 7   . a . b        code →
        outer 8   c . . d        rectangle of outers × codes
    """

    groups: Groups
    outers: Ints
    """The outer number of each rank."""
    codes: int
    present: Ints | None

    @staticmethod
    def of(outer: Ints, codes: Codes, count: int) -> Pairs:
        """Group rows by their outer number and their code, of which there are `count`."""
        if not len(outer):
            none = np.zeros(0, np.int64)
            return Pairs(Groups(none, 0), none, max(count, 1), none)
        place, outers = ranked(outer)
        if len(outers) == 1:
            return Pairs(Groups(codes.astype(np.int64, copy=False), count), outers, count, None)
        domain = len(outers) * count
        place *= count
        place += codes
        if domain <= max(_DENSE, 4 * len(outer)):
            return Pairs(Groups(place, domain), outers, count, None)
        place, present = densify(place, domain)
        return Pairs(Groups(place, len(present)), outers, count, present)

    def occurring(self, rows: Ints) -> Ints:
        """The groups that occur, given how many rows each has."""
        return np.flatnonzero(rows) if self.present is None else np.arange(self.groups.count)

    def split(self, groups: Ints) -> tuple[Ints, Ints]:
        """The outer number and the code of these groups."""
        pairs = groups if self.present is None else self.present[groups]
        return self.outers[pairs // self.codes], pairs % self.codes

    def settle(self, partials: Partials) -> tuple[Ints, Ints, Partials]:
        """The groups that occur: their outer numbers, codes and partials."""
        kept = self.occurring(partials.rows)
        outer, codes = self.split(kept)
        return outer, codes, partials if len(kept) == len(partials) else partials.take(kept)


def locate(windows: Ints, keys: list[pa.Array], wanted: Ints, wanted_keys: list[pa.Array]) -> Ints:
    """Where each wanted (window, key) stands among those that are there; -1 where it does not."""
    if not len(windows) or not len(wanted):
        return np.full(len(wanted), -1, np.int64)
    both = [pa.concat_arrays(pair) for pair in zip(keys, wanted_keys, strict=True)]
    found = encode(both, len(windows) + len(wanted))
    pairs = ranked(np.concatenate([windows, wanted]))[0] * found.count + found.codes
    here, sought = pairs[: len(windows)], pairs[len(windows) :]
    order = np.argsort(here)
    place = np.minimum(np.searchsorted(here[order], sought), len(order) - 1)
    rows = order[place]
    return np.where(here[rows] == sought, rows, -1)
