"""Tumbling and hopping windows: who computes them on Spark, and what comes of a few orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

import fanlight as fl
from benchmarks.spark.by_key import OUTPUT, MinuteProcessor
from benchmarks.spark.contestants import DELAY, Contestant, orders, summed
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files
from benchmarks.totals import COLUMNS, VALUES, floored, last_firings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from fanlight.model.windows.kind import WindowKind  # for types alone: earlier commits have it elsewhere

MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Aligned:
    """Windows as both sides spell them, and their lengths in microseconds."""

    name: str
    kind: WindowKind
    column: Callable[[], Column]
    size: int
    every: int

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The closed panes among rows; those that take a firing back are left out."""
        start = pc.struct_field(rows.column("window"), "start").cast(pa.int64())
        panes = pa.table([rows.column("key"), start, *(rows.column(name) for name in VALUES)], names=COLUMNS)
        if "pane" in rows.column_names:
            panes = panes.filter(pc.not_equal(pc.struct_field(rows.column("pane"), "op"), "-U"))
        return _in_order(self._closed(last_firings(panes)) if repeats else panes)

    def defined(self) -> pa.Table:
        """A record counts in each of the `size / every` windows that cover its time."""
        rows = few()
        price = rows.column("price")
        cells = [rows.column("key"), floored(rows.column("ts"), self.every), pa.array(np.ones(len(rows), np.int64))]
        slices = _grouped(pa.table([*cells, price, price], names=COLUMNS))
        start = slices.column("start")
        panes = pa.concat_tables(
            slices.set_column(1, "start", pc.subtract(start, back)) for back in range(0, self.size, self.every)
        )
        return _in_order(self._closed(_grouped(panes)))

    def _closed(self, panes: pa.Table) -> pa.Table:
        return panes.filter(pc.less_equal(panes.column("start"), last_watermark() - self.size))


TUMBLING = Aligned(
    "tumbling 1 min", fl.tumbling("1 minute"), lambda: functions.window("ts", "1 minute"), MINUTE, MINUTE
)
HOPPING = Aligned(
    "hopping 10 min / 10 s",
    fl.hopping("10 minutes", every="10 seconds"),
    lambda: functions.window("ts", "10 minutes", "10 seconds"),
    10 * MINUTE,
    MINUTE // 6,
)


def fanlight(name: str, windows: Aligned, files: Files, warm: int) -> Contestant:
    """Fanlight, firing once."""

    def query(source: DataFrame) -> DataFrame:
        return summed(orders(source).window(windows.kind))

    return Contestant(name, windows, query, files, warm)


def fanlight_patient(name: str, windows: Aligned, files: Files, warm: int) -> Contestant:
    """Fanlight with windows that can be corrected for an hour, though nothing is late."""

    def query(source: DataFrame) -> DataFrame:
        return summed(orders(source).window(windows.kind, lateness="1 hour"))

    return Contestant(name, windows, query, files, warm)


def fanlight_early(name: str, windows: Aligned, files: Files, warm: int) -> Contestant:
    """Fanlight with an early firing of every pane that a batch has changed, each taking back the one before."""

    def query(source: DataFrame) -> DataFrame:
        early = fl.at_watermark(early=fl.after(1))
        return summed(orders(source).window(windows.kind).trigger(early).retracting())

    return Contestant(name, windows, query, files, warm, repeats=True)


def native(name: str, windows: Aligned, files: Files, warm: int) -> Contestant:
    """Spark's own `groupBy(window(…), key)`."""

    def query(source: DataFrame) -> DataFrame:
        return natively_summed(source, windows.column())

    return Contestant(name, windows, query, files, warm)


def by_key(name: str, files: Files, warm: int) -> Contestant:
    """A processor of Spark's that is grouped by the key, as its documentation shows."""

    def query(source: DataFrame) -> DataFrame:
        groups = source.withWatermark("ts", DELAY).groupBy("key")
        rows = groups.transformWithStateInPandas(MinuteProcessor(), OUTPUT, "append", "eventTime")
        start = functions.timestamp_millis("start").alias("start")
        return rows.select("key", functions.struct(start).alias("window"), "n", "revenue", "highest")

    return Contestant(name, TUMBLING, query, files, warm)


def natively_summed(source: DataFrame, window: Column) -> DataFrame:
    """Count, sum and maximum of the price by window and key, as Spark has them."""
    price = functions.col("price")
    return (
        source.withWatermark("ts", DELAY)
        .groupBy(window, "key")
        .agg(
            functions.count("*").alias("n"),
            functions.sum(price).alias("revenue"),
            functions.max(price).alias("highest"),
        )
    )


def _grouped(rows: pa.Table) -> pa.Table:
    kinds = zip(VALUES, ("sum", "sum", "max"), strict=True)
    return rows.group_by(["key", "start"], use_threads=False).aggregate(list(kinds)).rename_columns(COLUMNS)


def _in_order(panes: pa.Table) -> pa.Table:
    return panes.sort_by([("key", "ascending"), ("start", "ascending")]).combine_chunks()
