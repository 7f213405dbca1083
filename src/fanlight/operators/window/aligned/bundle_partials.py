"""The partials of a bundle by pane: records are aggregated by slice and key once, then merged for each window."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.kernels.grouping.columnar import FOR_ALL, Columnar
from fanlight.kernels.grouping.groups import Bools, Ints, Pairs, densify, encode, least_times, ranked
from fanlight.kernels.routes import ROUTES
from fanlight.kernels.slicing.merge_windows import served
from fanlight.kernels.slicing.slicing import covered, spread
from fanlight.kernels.slicing.two_stacks import by_slice
from fanlight.operators.window.admission import Accepted
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.preaggregated import PreAggregatedSlices


@dataclass(frozen=True, slots=True)
class BundlePartials(Columnar):
    """One row for each pane: the partials of its new records, and their least time if the trigger needs it."""

    windows: Ints
    codes: Ints
    keys: list[pa.Array]
    partials: Partials
    least: Ints
    cells: Cells = field(metadata=FOR_ALL)

    def join(self, other: BundlePartials, plan: Plan) -> BundlePartials:
        """Merge the rows of both, one row for each pane; the cells are those of this one."""
        both = BundlePartials.concat([self, other])
        found = encode(both.keys, len(both))
        pairs = Pairs.of(both.windows, found.codes, found.count)
        merged = plan.aggregation.merge(both.partials, pairs.groups)
        kept = pairs.occurring(merged.rows)
        windows, codes = pairs.split(kept)
        least = least_times(both.least, pairs.groups)[kept]
        return BundlePartials(windows, codes, found.take(codes), merged.take(kept), least, self.cells)

    def only_in(self, panes: Bools) -> Bools:
        """Which records count in these panes only."""
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


def bundle_partials(plan: Plan, accepted: Accepted, *, timed: bool) -> BundlePartials:
    """Aggregate a bundle into one row for each pane. A record is aggregated once, however many windows overlap.

    `timed` asks for the least time of the records.
    """
    found = encode(accepted.keys(plan), len(accepted))
    sites, slices, first = _sites(plan, accepted)
    pairs = Pairs.of(sites, found.codes, found.count)
    times = accepted.bundle.times
    counted, deletes = accepted.counted(plan), accepted.bundle.deletes
    partials = plan.aggregation.partial(accepted.values(plan), times, pairs.groups, counted, deletes=deletes)
    kept = pairs.occurring(partials.rows)
    site, codes = pairs.split(kept)
    place = np.zeros(pairs.groups.count, np.int64)
    place[kept] = np.arange(len(kept))
    last = plan.slicing.windows(slices[site])[1]
    cells = Cells(place[pairs.groups.codes], codes, slices[site], first[site], last, found.count)
    least = least_times(times, pairs.groups)[kept] if timed else None
    judged_alike = bool((accepted.expired == accepted.expired[0]).all())
    windows, codes, merged, least = _by_pane(plan, cells, partials.take(kept), least, judged_alike)
    return BundlePartials(windows, codes, found.take(codes), merged, least, cells)


def preaggregated_partials(plan: Plan, preaggregated: PreAggregatedSlices, expired: int) -> BundlePartials:
    """Pre-aggregated records as one row for each pane; windows up to `expired` get none of them."""
    found = encode(preaggregated.keys, len(preaggregated))
    pairs = Pairs.of(preaggregated.slices, found.codes, found.count)
    partials = plan.aggregation.merge(preaggregated.partials, pairs.groups)
    kept = pairs.occurring(partials.rows)
    slices, codes = pairs.split(kept)
    first, last = plan.slicing.windows(slices)
    cells = Cells(np.zeros(0, np.int64), codes, slices, np.maximum(first, expired + 1), last, found.count)
    least = None if preaggregated.least is None else least_times(preaggregated.least, pairs.groups)[kept]
    windows, codes, merged, least = _by_pane(plan, cells, partials.take(kept), least, judged_alike=True)
    return BundlePartials(windows, codes, found.take(codes), merged, least, cells)


def _by_pane(
    plan: Plan, cells: Cells, partials: Partials, least: Ints | None, judged_alike: bool
) -> tuple[Ints, Ints, Partials, Ints]:
    """Merge cells into panes: directly if they are few, else window by window over two stacks.

    Stacks merge whole slices, so they only work for records that were judged by one watermark: otherwise a record may
    be too late for a window in which another record of the same slice still counts.
    """
    written_out = int(np.sum(cells.last - cells.first + 1))
    if least is None and written_out > ROUTES.get().written_out and plan.slicing.width > 1 and judged_alike:
        return _over_stacks(plan, cells, partials)
    source, windows = spread(cells.first, cells.last)
    pairs = Pairs.of(windows, cells.codes[source], cells.count)
    content = plan.aggregation.merge(partials.take(source), pairs.groups)
    kept = pairs.occurring(content.rows)
    earliest = np.zeros(len(kept), np.int64) if least is None else least_times(least[source], pairs.groups)[kept]
    return *pairs.split(kept), content.take(kept), earliest


def _over_stacks(plan: Plan, cells: Cells, partials: Partials) -> tuple[Ints, Ints, Partials, Ints]:
    windows = covered(*_live(cells, np.unique(cells.slices)))
    slices = by_slice(cells.slices, cells.codes, partials)
    owners, codes, merged = served(plan.slicing, plan.aggregation, windows, slices, cells.count)
    return owners, codes, merged, np.zeros(len(merged), np.int64)


def _live(cells: Cells, slices: Ints) -> tuple[Ints, Ints]:
    """The windows first..last of these slices."""
    rows = np.searchsorted(cells.slices, slices)
    return cells.first[rows], cells.last[rows]


def _sites(plan: Plan, accepted: Accepted) -> tuple[Ints, Ints, Ints]:
    """Number the (slice, first window) pairs: the number of each record, and the pair of each number."""
    near, slices = ranked(accepted.slices)
    if len(accepted.expired) == 1:
        return near, slices, np.maximum(plan.slicing.windows(slices)[0], accepted.expired + 1)
    first, firsts = ranked(np.maximum(plan.slicing.windows(accepted.slices)[0], accepted.expired + 1))
    sites, present = densify(near * len(firsts) + first, len(slices) * len(firsts))
    return sites, slices[present // len(firsts)], firsts[present % len(firsts)]
