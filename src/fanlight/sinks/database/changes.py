"""From a changelog to the changes of a table: the rows to delete, and the rows to insert."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.grouping.groups import encode
from fanlight.model.firing import Op

_STANDING = pa.array([Op.INSERT.code, Op.UPDATE.code])


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Delete every row named by `gone`, then insert `rows`."""

    gone: pa.Table
    rows: pa.Table


def changes(rows: pa.Table, ops: pa.ChunkedArray | None, key: tuple[str, ...]) -> TableChanges:
    """The changes that a batch of firings makes to a table with one row for each key: the last row of a key counts.

    If it is an insertion or an update, it is the row; if it is a retraction or a deletion, there is no row.

        +I 2 │ -U 2, +U 3 │ -U 3, +U 4   →   4
        +I 2 │ -D 2                      →   no row
    """
    columns = [rows[name].combine_chunks() for name in key]
    found = encode(columns, len(rows))
    last = np.full(found.count, -1, np.int64)
    last[found.codes] = np.arange(len(rows))  # of several rows with one code, NumPy keeps the last
    places = pa.array(np.sort(last[last >= 0]))
    newest = rows.take(places)
    if ops is None:
        return TableChanges(newest.select(key), newest)
    standing = pc.is_in(ops.take(places), _STANDING)
    return TableChanges(newest.select(key), newest.filter(standing))
