"""What a bundle brings to each pane: its records folded by slice and key once, then merged window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Groups, Ints
from fanlight.kernels.keys import KeyCodes, densify, encode
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.slicing import spread
from fanlight.model.timestamp import END_OF_TIME
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken


@dataclass(frozen=True, slots=True)
class Deltas:
    """One row a pane: what came to it, and the least time among that."""

    windows: Ints
    keys: list[pa.Array]
    partials: Partials
    least: Ints
    cells: _Cells
    shares: tuple[Ints, Ints]
    """Which cell and which pane have records in common."""

    def where(self, mask: Bools) -> Deltas:
        """The panes that `mask` keeps."""
        kept = pa.array(mask)
        keys = [column.filter(kept) for column in self.keys]
        return Deltas(self.windows[mask], keys, self.partials.take(mask), self.least[mask], self.cells, self.shares)

    def only_in(self, panes: Bools) -> Bools:
        """Which records count in none but these panes."""
        cells, pane = self.shares
        alive = np.zeros(self.cells.count, np.bool_)
        alive[cells[~panes[pane]]] = True
        return ~alive[self.cells.of_rows]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Records that share slice, key and windows: the finest grain of a bundle."""

    of_rows: Ints
    count: int


def deltas(plan: Plan, taken: Taken) -> Deltas:
    """Fold a bundle into one row a pane. A record is folded once, however many windows overlap."""
    found = encode(taken.keys(plan), len(taken))
    sites, site_slices, site_first = _sites(plan, taken)
    pairs = Pairs.of(sites, found.codes, found.count)
    times = taken.bundle.times
    partials = plan.fold.partial(taken.values(plan), times, pairs.groups, taken.counted(plan))
    kept = pairs.occurring(partials.rows)
    least = _least(times, pairs.groups)[kept]
    site, codes = pairs.split(kept)
    place = np.zeros(pairs.groups.count, np.int64)
    place[kept] = np.arange(len(kept))
    cells = _Cells(place[pairs.groups.codes], len(kept))
    last = plan.slicing.windows(site_slices)[1]
    return _by_pane(plan, found, partials.take(kept), least, cells, codes, site_first[site], last[site])


def _by_pane(
    plan: Plan,
    found: KeyCodes,
    partials: Partials,
    least: Ints,
    cells: _Cells,
    codes: Ints,
    first: Ints,
    last: Ints,
) -> Deltas:
    source, windows = spread(first, last)
    pairs = Pairs.of(windows, codes[source], found.count)
    content = plan.fold.merge(partials.take(source), pairs.groups)
    pane_least = _least(least[source], pairs.groups)
    kept = pairs.occurring(content.rows)
    pane_windows, pane_codes = pairs.split(kept)
    place = np.zeros(pairs.groups.count, np.int64)
    place[kept] = np.arange(len(kept))
    shares = (source, place[pairs.groups.codes])
    return Deltas(pane_windows, found.take(pane_codes), content.take(kept), pane_least[kept], cells, shares)


def _sites(plan: Plan, taken: Taken) -> tuple[Ints, Ints, Ints]:
    """Number the (slice, first window) combinations: each record's, and the slice and first window of each."""
    if not len(taken):
        none = np.zeros(0, np.int64)
        return none, none, none
    lowest = int(taken.slices.min())
    near = taken.slices - lowest
    first, _ = plan.slicing.windows(taken.slices)
    first = np.maximum(first, taken.expired + 1)
    earliest = int(first.min())
    span = int(first.max()) - earliest + 1
    sites, present = densify(near * span + (first - earliest), (int(near.max()) + 1) * span)
    return sites, present // span + lowest, present % span + earliest


def _least(times: Ints, groups: Groups) -> Ints:
    least = np.full(groups.count, END_OF_TIME)
    np.minimum.at(least, groups.codes, times)
    return least
