"""What must come out, window by window: a figure counts only if the numbers behind it are right."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = ["key", "start", "n", "revenue", "highest"]
"""What every contestant's rows are read as; `start` in microseconds."""

_ADDED_UP = [("n", "sum"), ("revenue", "sum"), ("highest", "max")]
_COUNTED = [([], "count_all"), ("price", "sum"), ("price", "max")]


def expected(bundles: Iterable[pa.RecordBatch], size: int, every: int) -> pa.Table:
    """Each window's count, sum and maximum over all keys, by the definition: a record is in `size / every` of them."""
    cells = []
    for bundle in bundles:
        table = pa.table({"start": floored(bundle.column("ts"), every), "price": bundle.column("price")})
        cell = table.group_by("start", use_threads=False).aggregate(_COUNTED)
        cells.append(cell.rename_columns(["start", "n", "revenue", "highest"]))
    slices = by_window(pa.concat_tables(cells))
    shifted = [
        slices.set_column(0, "start", pc.subtract(slices.column("start"), back)) for back in range(0, size, every)
    ]
    return by_window(pa.concat_tables(shifted))


def floored(times: pa.Array, every: int) -> pa.Array:
    """Times in microseconds, down to a multiple of `every`; all are after 1970."""
    return pc.multiply(pc.divide(times.cast(pa.int64()), every), every)


def by_window(panes: pa.Table) -> pa.Table:
    """The totals of each window, ascending."""
    totals = panes.group_by("start", use_threads=False).aggregate(_ADDED_UP)
    return totals.rename_columns(["start", "n", "revenue", "highest"]).sort_by("start").combine_chunks()


def last_firings(panes: pa.Table) -> pa.Table:
    """Each pane's last firing: of positive prices, the one with the greatest values."""
    greatest = [("n", "max"), ("revenue", "max"), ("highest", "max")]
    return panes.group_by(["key", "start"], use_threads=False).aggregate(greatest).rename_columns(COLUMNS)
