"""A few orders, enough to tell a contestant that is right from one that is not; and where Spark's watermark ends."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import DISORDER, Orders
from benchmarks.spark.files import Files

FEW = Files(Orders(60_000, keys=300), cut=3, first=3)

_MILLISECOND = 1_000


def few() -> pa.Table:
    """The orders themselves."""
    return pa.Table.from_batches(FEW.orders.bundles())


def last_watermark() -> int:
    """The watermark after the last of them, in microseconds; Spark's counts milliseconds."""
    last = pc.max(few().column("ts").cast(pa.int64())).as_py()
    return int(last // _MILLISECOND * _MILLISECOND - DISORDER)
