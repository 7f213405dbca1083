"""What a bundle brings to each pane: its records folded by slice and key once, then merged window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fanlight.kernels.fold import Partials
from fanlight.kernels.groups import Bools, Ints, ranked
from fanlight.kernels.keys import densify, encode
from fanlight.kernels.pairs import Pairs
from fanlight.kernels.slicing import covered, spread
from fanlight.kernels.sliding import by_slice
from fanlight.kernels.window_merge import served
from fanlight.operators.folded import FoldedSlices, least_times
from fanlight.operators.plan import Plan
from fanlight.operators.taken import Taken

_FEW = 1 << 16
"""Up to this many (cell, window) pairs are written out and merged at once."""


@dataclass(frozen=True, slots=True)
class Deltas:
    """One row a pane: what came to it, and the least time among that where the trigger asks for it."""

    windows: Ints
    codes: Ints
    keys: list[pa.Array]
    partials: Partials
    least: Ints
    cells: Cells

    def join(self, other: Deltas, plan: Plan) -> Deltas:
        """One row a pane for what both brought; the cells are these ones' own."""
        keys = [pa.concat_arrays(pair) for pair in zip(self.keys, other.keys, strict=True)]
        found = encode(keys, len(self.windows) + len(other.windows))
        pairs = Pairs.of(np.concatenate([self.windows, other.windows]), found.codes, found.count)
        both = plan.fold.merge(Partials.concat([self.partials, other.partials]), pairs.groups)
        kept = pairs.occurring(both.rows)
        windows, codes = pairs.split(kept)
        least = least_times(np.concatenate([self.least, other.least]), pairs.groups)[kept]
        return Deltas(windows, codes, found.take(codes), both.take(kept), least, self.cells)

    def where(self, mask: Bools) -> Deltas:
        """The panes that `mask` keeps."""
        kept = pa.array(mask)
        keys = [column.filter(kept) for column in self.keys]
        least, partials = self.least[mask], self.partials.take(mask)
        return Deltas(self.windows[mask], self.codes[mask], keys, partials, least, self.cells)

    def only_in(self, panes: Bools) -> Bools:
        """Which records count in none but these panes."""
        cells = self.cells
        suspects = np.flatnonzero(np.isin(cells.codes, self.codes[panes]))
        source, windows = spread(cells.first[suspects], cells.last[suspects])
        ranks, _ = ranked(np.concatenate([windows, self.windows[panes]]))
        pairs = ranks * cells.count + np.concatenate([cells.codes[suspects][source], self.codes[panes]])
        elsewhere = ~np.isin(pairs[: len(windows)], pairs[len(windows) :])
        alive = np.ones(len(cells.codes), np.bool_)
        alive[suspects] = np.bincount(source[elsewhere], minlength=len(suspects)) > 0
        return ~alive[cells.of_rows]


@dataclass(frozen=True, slots=True)
class Cells:
    """Records that share key, slice and windows first..last: the finest grain of a bundle."""

    of_rows: Ints
    codes: Ints
    slices: Ints
    first: Ints
    last: Ints
    count: int
    """How many key codes there are."""


def deltas(plan: Plan, taken: Taken, *, timed: bool) -> Deltas:
    """Fold a bundle into one row a pane. A record is folded once, however many windows overlap.

    `timed` asks for the least time of what came.
    """
    found = encode(taken.keys(plan), len(taken))
    sites, slices, first = _sites(plan, taken)
    pairs = Pairs.of(sites, found.codes, found.count)
    times = taken.bundle.times
    partials = plan.fold.partial(taken.values(plan), times, pairs.groups, taken.counted(plan))
    kept = pairs.occurring(partials.rows)
    site, codes = pairs.split(kept)
    place = np.zeros(pairs.groups.count, np.int64)
    place[kept] = np.arange(len(kept))
    last = plan.slicing.windows(slices[site])[1]
    cells = Cells(place[pairs.groups.codes], codes, slices[site], first[site], last, found.count)
    least = least_times(times, pairs.groups)[kept] if timed else None
    judged_alike = bool((taken.expired == taken.expired[0]).all())
    windows, codes, merged, least = _by_pane(plan, cells, partials.take(kept), least, judged_alike)
    return Deltas(windows, codes, found.take(codes), merged, least, cells)


def folded_deltas(plan: Plan, folded: FoldedSlices, expired: int) -> Deltas:
    """One row a pane for records that came folded; windows up to `expired` take none of them."""
    found = encode(folded.keys, len(folded))
    pairs = Pairs.of(folded.slices, found.codes, found.count)
    partials = plan.fold.merge(folded.partials, pairs.groups)
    kept = pairs.occurring(partials.rows)
    slices, codes = pairs.split(kept)
    first, last = plan.slicing.windows(slices)
    cells = Cells(np.zeros(0, np.int64), codes, slices, np.maximum(first, expired + 1), last, found.count)
    least = None if folded.least is None else least_times(folded.least, pairs.groups)[kept]
    windows, codes, merged, least = _by_pane(plan, cells, partials.take(kept), least, judged_alike=True)
    return Deltas(windows, codes, found.take(codes), merged, least, cells)


def _by_pane(
    plan: Plan, cells: Cells, partials: Partials, least: Ints | None, judged_alike: bool
) -> tuple[Ints, Ints, Partials, Ints]:
    """Merge cells into panes: written out where they are few, else window by window over two stacks.

    Stacks merge whole slices, so they serve only records that were judged alike: else a record may be too late for a
    window that another one of the bundle still counts in.
    """
    written_out = int(np.sum(cells.last - cells.first + 1))
    if least is None and written_out > _FEW and plan.slicing.width > 1 and judged_alike:
        return _over_stacks(plan, cells, partials)
    source, windows = spread(cells.first, cells.last)
    pairs = Pairs.of(windows, cells.codes[source], cells.count)
    content = plan.fold.merge(partials.take(source), pairs.groups)
    kept = pairs.occurring(content.rows)
    earliest = np.zeros(len(kept), np.int64) if least is None else least_times(least[source], pairs.groups)[kept]
    return *pairs.split(kept), content.take(kept), earliest


def _over_stacks(plan: Plan, cells: Cells, partials: Partials) -> tuple[Ints, Ints, Partials, Ints]:
    windows = covered(*_live(cells, np.unique(cells.slices)))
    slices = by_slice(cells.slices, cells.codes, partials)
    owners, codes, merged = served(plan.slicing, plan.fold, windows, slices, cells.count)
    return owners, codes, merged, np.zeros(len(merged), np.int64)


def _live(cells: Cells, slices: Ints) -> tuple[Ints, Ints]:
    """The windows first..last of these slices."""
    rows = np.searchsorted(cells.slices, slices)
    return cells.first[rows], cells.last[rows]


def _sites(plan: Plan, taken: Taken) -> tuple[Ints, Ints, Ints]:
    """Number the (slice, first window) combinations: each record's, and the slice and first window of each."""
    near, slices = ranked(taken.slices)
    if len(taken.expired) == 1:
        return near, slices, np.maximum(plan.slicing.windows(slices)[0], taken.expired + 1)
    first, firsts = ranked(np.maximum(plan.slicing.windows(taken.slices)[0], taken.expired + 1))
    sites, present = densify(near * len(firsts) + first, len(slices) * len(firsts))
    return sites, slices[present // len(firsts)], firsts[present % len(firsts)]
