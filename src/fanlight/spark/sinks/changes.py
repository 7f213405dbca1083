"""From a changelog to what stands afterwards: the rows that go, and the rows that come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fanlight.kernels.keys import encode
from fanlight.model.firing import Op

_STANDING = pa.array([Op.INSERT.code, Op.UPDATE.code])


@dataclass(frozen=True, slots=True)
class Changes:
    """Take away every row named by `gone`, then add `rows`."""

    gone: pa.Table
    rows: pa.Table


def changes(rows: pa.Table, ops: pa.ChunkedArray | None, key: tuple[str, ...]) -> Changes:
    """What a batch of firings does to a table with one row for each key: the last of a key is what counts.

    An insertion or an update stands; a retraction or a deletion that nothing follows leaves no row.

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
        return Changes(newest.select(key), newest)
    standing = pc.is_in(ops.take(places), _STANDING)
    return Changes(newest.select(key), newest.filter(standing))
