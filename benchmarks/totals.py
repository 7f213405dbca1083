"""What must come out: a figure counts only if the numbers behind it are right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

VALUES = ["n", "revenue", "highest"]
COLUMNS = ["key", "start", *VALUES]
"""What every contestant's rows are read as; `start` in microseconds."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Count, sum and maximum of each window over all keys, and of each key over all windows."""

    by_window: pa.Table
    by_key: pa.Table

    @staticmethod
    def of(panes: pa.Table) -> Totals:
        """The totals of rows that are read as `COLUMNS`."""
        return Totals(_added_up(panes, "start"), _added_up(panes, "key"))

    @staticmethod
    def together(parts: Sequence[Totals]) -> Totals:
        """The totals of several parts."""
        by_window = _added_up(pa.concat_tables([part.by_window for part in parts]), "start")
        return Totals(by_window, _added_up(pa.concat_tables([part.by_key for part in parts]), "key"))


def expected(bundles: Iterable[pa.RecordBatch], size: int, every: int) -> Totals:
    """What the definition says: a record counts in each of the `size / every` windows that cover its time."""
    parts = []
    for bundle in bundles:
        price = bundle.column("price")
        once = pa.array(np.ones(len(bundle), np.int64))
        cells = [bundle.column("key"), floored(bundle.column("ts"), every), once, price, price]
        parts.append(Totals.of(pa.table(cells, names=COLUMNS)))
    one_slice = Totals.together(parts)
    windows = [
        one_slice.by_window.set_column(0, "start", pc.subtract(one_slice.by_window.column("start"), back))
        for back in range(0, size, every)
    ]
    keys = [one_slice.by_key] * (size // every)
    return Totals(_added_up(pa.concat_tables(windows), "start"), _added_up(pa.concat_tables(keys), "key"))


def floored(times: pa.Array, every: int) -> pa.Array:
    """Times in microseconds, down to a multiple of `every`; all are after 1970."""
    return pc.multiply(pc.divide(times.cast(pa.int64()), every), every)


def last_firings(panes: pa.Table) -> pa.Table:
    """Each pane's last firing: prices are positive, so it is the one with the greatest values."""
    greatest = panes.group_by(["key", "start"], use_threads=False).aggregate([(name, "max") for name in VALUES])
    return greatest.rename_columns(COLUMNS)


def _added_up(rows: pa.Table, by: str) -> pa.Table:
    """Count, sum and maximum of each group, in order."""
    kinds = zip(VALUES, ("sum", "sum", "max"), strict=True)
    groups = rows.group_by(by, use_threads=False).aggregate(list(kinds))
    return groups.rename_columns([by, *VALUES]).sort_by(by).combine_chunks()
