"""Many ranges of rows merged at once: what the windows of a key hold, when its rows lie in the order of time.

A range costs a constant number of merges, and a row one or two for each doubling of the longest range near it; a
window of 10,000 records costs little more than one of 10.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fanlight.kernels.fold import Fold, Partials
from fanlight.kernels.ranges_combined import merged_ranges
from fanlight.kernels.ranges_spans import Spans

if TYPE_CHECKING:
    from fanlight.kernels.groups import Ints

_CHUNK = 1 << 16
"""How many rows are worked on at once: so many that what is known of them stays in the cache."""


def ranges(fold: Fold, partials: Partials, low: Ints, high: Ints) -> Partials:
    """Row i is the merge of the rows `low[i]` up to, not including, `high[i]`; the identity where that is no row.

    The law: what `fold.merge` gives for the same rows, for floats up to the order of addition, which depends on the
    arguments alone. Ranges may come in any order; they are quickest where `low` never falls.
    """
    longest, is_held, is_ordered = _looked_over(low, high)
    if not is_held:
        places = np.flatnonzero(low < high)
        order = np.full(len(low), len(places))
        order[places] = np.arange(len(places))
        answers = ranges(fold, partials, low[places], high[places])
        return Partials.concat([answers, fold.identity(1)]).take(order)
    if not len(low):
        return fold.identity(0)
    if not is_ordered:
        order = np.argsort(low, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return ranges(fold, partials, low[order], high[order]).take(back)
    size = max(_CHUNK, 2 * longest)
    cuts = np.unique(np.searchsorted(low, np.arange(0, len(partials) + size, size)))
    return Partials.concat(
        [_chunk(fold, partials, low[start:end], high[start:end]) for start, end in pairwise(cuts.tolist())]
    )


def _looked_over(low: Ints, high: Ints) -> tuple[int, bool, bool]:
    """How long the longest range is, whether none is empty, and whether `low` never falls; in one pass."""
    longest, shortest, is_ordered = 0, 1, True
    for start in range(0, len(low), _CHUNK):
        lengths = high[start : start + _CHUNK] - low[start : start + _CHUNK]
        longest, shortest = max(longest, int(lengths.max())), min(shortest, int(lengths.min()))
        near = low[max(start - 1, 0) : start + _CHUNK]
        is_ordered = is_ordered and bool((near[1:] >= near[:-1]).all())
    return longest, shortest > 0, is_ordered


def _chunk(fold: Fold, partials: Partials, low: Ints, high: Ints) -> Partials:
    """Ranges that lie near each other, answered from the rows between the first and the last of them."""
    start, end = int(low[0]), int(high.max())
    near = partials.part(start, end)
    spans = Spans.of(low - start, high - (start + 1), end - start)
    columns = [merged_ranges(reducer, own, spans) for reducer, own in zip(fold.reducers, near.columns, strict=True)]
    stamp = None if near.stamp is None else spans.reduced(near.stamp, fold.stamped_by)
    return Partials(spans.added(near.rows), stamp, columns)
