"""Tables of partials by slice and key, joined into one: what several inputs brought to the same windows."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from fanlight.kernels.aggregates.aggregation import SlicedPartials, merge_by_slice
from fanlight.kernels.routes import ROUTES

if TYPE_CHECKING:
    from fanlight.kernels.aggregates.aggregation import Aggregation


def join_slices(aggregation: Aggregation, tables: list[SlicedPartials]) -> SlicedPartials:
    """One partial for each slice and key of these tables, each of which has no more than one; keys ascend.

    Most keys come in every input. Rows that say the same slices and keys are merged row by row, which looks up nothing:

        one      7 a   7 b   8 a   8 b   8 c
        other    7 a   7 b   8 b   8 c
                 └ row by row └ by key
    """
    return reduce(
        lambda one, other: _joined(aggregation, one, other), [table for table in tables if len(table)] or tables[:1]
    )


def _joined(aggregation: Aggregation, one: SlicedPartials, other: SlicedPartials) -> SlicedPartials:
    if _alike(one, other):
        return SlicedPartials(one.slices, one.keys, aggregation.combine(one.partials, other.partials))
    slices = np.union1d(one.distinct, other.distinct)
    if len(slices) == 1 or len(one) + len(other) < ROUTES.get().large_slice * len(slices):
        rows = SlicedPartials.concat([one, other])
        return merge_by_slice(aggregation, rows.take(np.argsort(rows.slices, kind="stable")))
    each = [[table.between(slice_, slice_) for table in (one, other)] for slice_ in slices.tolist()]
    return SlicedPartials.concat([join_slices(aggregation, pair) for pair in each])


def _alike(one: SlicedPartials, other: SlicedPartials) -> bool:
    """Whether row i of both has the same slice and the same key."""
    if len(one) != len(other) or not np.array_equal(one.slices, other.slices):
        return False
    return all(mine.equals(theirs) for mine, theirs in zip(one.keys, other.keys, strict=True))
