"""Each row with the average of its key's last minute: who computes it on Spark, and what comes of a few orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

import fanlight as fl
from benchmarks.spark.contestants import DELAY, Contestant, orders
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files
from benchmarks.spark.over_by_key import OUTPUT, RowProcessor
from benchmarks.trailing import Trailing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MINUTE = 60_000_000
_NAMES = ["key", "time", "price", "average"]


@dataclass(frozen=True, slots=True)
class RowsWithAverage:
    """Every record of a key, with the average of its minute."""

    name: str

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The rows in order."""
        assert not repeats
        time = rows.column("ts").cast(pa.int64())
        return _in_order(pa.table([rows.column("key"), time, rows.column("price"), rows.column("average")], _NAMES))

    def defined(self) -> pa.Table:
        """One row for each record that the watermark has passed; those of one key and time have one average."""
        trailing = Trailing.of(few(), _MINUTE)
        times_each = np.diff(trailing.high, prepend=0)
        key, time, average = (np.repeat(column, times_each) for column in trailing.averages())
        rows = pa.table([key, time, trailing.prices / 4, average], _NAMES)
        return _in_order(rows.filter(pc.less(rows.column("time"), last_watermark())))


def fanlight(name: str, windows: RowsWithAverage, files: Files, warm: int, *, by_spark: bool = False) -> Contestant:
    """Fanlight's `over`, written by `write_to`, or by Spark's own sink."""

    def result(source: DataFrame) -> fl.OverResult:
        return orders(source).over(fl.range("60 seconds")).add(average=fl.avg("price"))

    def query(source: DataFrame) -> DataFrame:
        return result(source).df

    return Contestant(name, windows, query, files, warm, writes=True, result=None if by_spark else result)


def by_key(name: str, windows: RowsWithAverage, files: Files, warm: int) -> Contestant:
    """A processor of Spark's that is grouped by the key, as its documentation shows."""

    def query(source: DataFrame) -> DataFrame:
        groups = source.withWatermark("ts", DELAY).groupBy("key")
        rows = groups.transformWithStateInPandas(RowProcessor(), OUTPUT, "append", "eventTime")
        return rows.select(functions.timestamp_micros("time").alias("ts"), "key", "price", "average")

    return Contestant(name, windows, query, files, warm, writes=True)


def _in_order(rows: pa.Table) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in _NAMES]).combine_chunks()
