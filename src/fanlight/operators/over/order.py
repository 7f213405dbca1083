"""The order of a key's rows, and which of them are peers: by their times, or by columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.over.peers import differs_from_before, order_within_times, ordered_ranks
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.operators.ingest.columns import plain


def in_order(times: Ints, rows: pa.RecordBatch, order: Sequence[OrderBy]) -> Ints | None:
    """The order of rows, which come ordered by time, by these columns within each time; None if they are in it."""
    return order_within_times(times, _ranks(rows, order))


def order_of_all(spec: OverSpec, times: Ints, came: Ints, rows: pa.RecordBatch) -> Ints:
    """The order of rows that lie in none: by time and the columns of `order`, or by those of `by`; then by arrival."""
    ranks = [times, *_ranks(rows, spec.order)]
    if spec.by:
        ranks = [_axis(spec, by, times, rows) for by in spec.by]
    order: Ints = np.lexsort([came, *reversed(ranks)])
    return order


def peers(spec: OverSpec, times: Ints, rows: pa.RecordBatch) -> Ints:
    """Of rows in order: a number for each that never falls, the same for peers. Differences are those of times."""
    if not spec.by:
        return times
    ranks = [_axis(spec, by, times, rows) for by in spec.by]
    if [by.column for by in spec.by] == [spec.time]:
        return ranks[0]
    numbers: Ints = np.cumsum(differs_from_before(ranks))
    return numbers


def _axis(spec: OverSpec, by: OrderBy, times: Ints, rows: pa.RecordBatch) -> Ints:
    """A number for each row in the order of a column; that of the times is the times, or the same turned round."""
    if by.column == spec.time:
        return -times if by.descending else times
    return _ranks(rows, [by])[0]


def _ranks(rows: pa.RecordBatch, order: Sequence[OrderBy]) -> list[Ints]:
    return [ordered_ranks(plain(rows.column(by.column)), descending=by.descending) for by in order]
