"""Sessions: who computes them on Spark, and what comes of a few orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

import fanlight as fl
from benchmarks.spark.aligned import natively_summed
from benchmarks.spark.contestants import Contestant, orders, summed
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files
from benchmarks.totals import VALUES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GAP = "30 seconds"
_GAP = 30_000_000


@dataclass(frozen=True, slots=True)
class SessionWindows:
    """Sessions that half a minute of silence ends."""

    name: str

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The rows, which are closed sessions, in order."""
        assert not repeats
        bounds = {side: pc.struct_field(rows.column("window"), side).cast(pa.int64()) for side in ("start", "end")}
        values = {name: rows.column(name) for name in VALUES}
        return _in_order(pa.table({"key": rows.column("key"), **bounds, **values}))

    def defined(self) -> pa.Table:
        """A session begins with a record a gap or more after the one before it, and ends a gap after its last."""
        rows = few().sort_by([("key", "ascending"), ("ts", "ascending")])
        keys, times = rows.column("key").to_numpy(), rows.column("ts").cast(pa.int64()).to_numpy()
        prices = rows.column("price").to_numpy()
        first = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]) | (np.diff(times) >= _GAP)]))
        after = np.append(first[1:], len(rows))
        ends = times[after - 1] + _GAP
        sessions = pa.table(
            {
                "key": keys[first],
                "start": times[first],
                "end": ends,
                "n": after - first,
                "revenue": np.add.reduceat(prices, first),
                "highest": np.maximum.reduceat(prices, first),
            }
        )
        return _in_order(sessions.filter(pa.array(ends <= last_watermark())))


def fanlight(name: str, windows: SessionWindows, files: Files, warm: int) -> Contestant:
    """Fanlight, firing once."""

    def query(source: DataFrame) -> DataFrame:
        return summed(orders(source).window(fl.session(GAP)))

    return Contestant(name, windows, query, files, warm)


def native(name: str, windows: SessionWindows, files: Files, warm: int) -> Contestant:
    """Spark's own `groupBy(session_window(…), key)`."""

    def query(source: DataFrame) -> DataFrame:
        sessions = natively_summed(source, functions.session_window("ts", GAP))
        return sessions.withColumnRenamed("session_window", "window")

    return Contestant(name, windows, query, files, warm)


def _in_order(sessions: pa.Table) -> pa.Table:
    return sessions.sort_by([("key", "ascending"), ("start", "ascending")]).combine_chunks()
