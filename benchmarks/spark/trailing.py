"""Trailing averages over a minute: who computes them on Spark, and what comes of a few orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

import fanlight as fl
from benchmarks.spark.contestants import DELAY, Contestant, orders
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files
from benchmarks.spark.trailing_by_key import OUTPUT, TrailingProcessor
from benchmarks.trailing import Trailing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MINUTE = 60_000_000
_NAMES = ["key", "time", "average"]


@dataclass(frozen=True, slots=True)
class TrailingWindows:
    """For each record of a key, its records of the minute up to it."""

    name: str

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The rows, which are closed windows, in order."""
        assert not repeats
        end = pc.struct_field(rows.column("window"), "end").cast(pa.int64())
        return _in_order(pa.table([rows.column("key"), pc.subtract(end, 1), rows.column("average")], names=_NAMES))

    def defined(self) -> pa.Table:
        """One row for each distinct time of a key that the watermark has passed."""
        averages = pa.table(list(Trailing.of(few(), _MINUTE).averages()), names=_NAMES)
        return _in_order(averages.filter(pc.less(averages.column("time"), last_watermark())))


def fanlight(name: str, windows: TrailingWindows, files: Files, warm: int) -> Contestant:
    """Fanlight, firing once."""

    def query(source: DataFrame) -> DataFrame:
        return orders(source).window(fl.sliding("60 seconds")).agg(average=fl.avg("price")).df

    return Contestant(name, windows, query, files, warm)


def by_key(name: str, windows: TrailingWindows, files: Files, warm: int) -> Contestant:
    """A processor of Spark's that is grouped by the key, as its documentation shows."""

    def query(source: DataFrame) -> DataFrame:
        groups = source.withWatermark("ts", DELAY).groupBy("key")
        rows = groups.transformWithStateInPandas(TrailingProcessor(), OUTPUT, "append", "eventTime")
        end = functions.timestamp_micros(functions.col("time") + 1).alias("end")
        return rows.select("key", functions.struct(end).alias("window"), "average")

    return Contestant(name, windows, query, files, warm)


def _in_order(averages: pa.Table) -> pa.Table:
    return averages.sort_by([("key", "ascending"), ("time", "ascending")]).combine_chunks()
