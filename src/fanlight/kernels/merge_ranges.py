"""Many ranges of rows merged at once: where a key's rows are sorted by time, each of its windows is a range.

A range costs a constant number of merges, and a row one or two for each doubling of the longest range near it; a
window of 10,000 records costs little more than one of 10.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fanlight.kernels.aggregates.aggregation import Aggregation, Partials
from fanlight.kernels.range_merge.pairwise import merged_ranges
from fanlight.kernels.range_merge.spans import Spans
from fanlight.kernels.routes import ROUTES

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Ints


def ranges(aggregation: Aggregation, partials: Partials, low: Ints, high: Ints) -> Partials:
    """Merge many ranges: row i of the result merges the rows `low[i]` to `high[i] - 1`; the identity if there is none.

    The law: the result equals that of `aggregation.merge` over the same rows. For floats the order of addition may
    differ, and depends on the arguments alone. Ranges may come in any order; it is fastest where `low` never falls.
    """
    longest, is_held, is_ordered = _looked_over(low, high)
    if not is_held:
        places = np.flatnonzero(low < high)
        order = np.full(len(low), len(places))
        order[places] = np.arange(len(places))
        answers = ranges(aggregation, partials, low[places], high[places])
        return Partials.concat([answers, aggregation.identity(1)]).take(order)
    if not len(low):
        return aggregation.identity(0)
    if not is_ordered:
        order = np.argsort(low, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return ranges(aggregation, partials, low[order], high[order]).take(back)
    size = max(ROUTES.get().range_chunk, 2 * longest)
    cuts = np.unique(np.searchsorted(low, np.arange(0, len(partials) + size, size)))
    return Partials.concat(
        [_chunk(aggregation, partials, low[start:end], high[start:end]) for start, end in pairwise(cuts.tolist())]
    )


def _looked_over(low: Ints, high: Ints) -> tuple[int, bool, bool]:
    """The length of the longest range, whether no range is empty, and whether `low` never falls; in one pass."""
    longest, shortest, is_ordered = 0, 1, True
    chunk = ROUTES.get().range_chunk
    for start in range(0, len(low), chunk):
        lengths = high[start : start + chunk] - low[start : start + chunk]
        longest, shortest = max(longest, int(lengths.max())), min(shortest, int(lengths.min()))
        near = low[max(start - 1, 0) : start + chunk]
        is_ordered = is_ordered and bool((near[1:] >= near[:-1]).all())
    return longest, shortest > 0, is_ordered


def _chunk(aggregation: Aggregation, partials: Partials, low: Ints, high: Ints) -> Partials:
    """Merge ranges that are near each other, from the rows between the first and the last of them."""
    start, end = int(low[0]), int(high.max())
    near = partials.part(start, end)
    spans = Spans.of(low - start, high - (start + 1), end - start)
    columns = [
        merged_ranges(reducer, own, spans) for reducer, own in zip(aggregation.reducers, near.columns, strict=True)
    ]
    stamp = None if near.stamp is None else spans.reduced(near.stamp, aggregation.stamped_by)
    return Partials(spans.added(near.rows), stamp, columns)
