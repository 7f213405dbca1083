"""Who is measured: each makes a DataFrame of the same windows from the same source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions

import fanlight as fl
from benchmarks.spark.by_key import LEAVING, MinuteProcessor
from benchmarks.spark.files import Files
from fanlight.model.windows import WindowKind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE = 60_000_000
DELAY = "5 seconds"
"""How far the watermark follows behind, for all of them."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows as both sides spell them, and their lengths in microseconds."""

    name: str
    kind: WindowKind
    column: Callable[[], Column]
    size: int
    every: int


TUMBLING = Windows(
    "tumbling 1 min", fl.tumbling("1 minute"), lambda: functions.window("ts", "1 minute"), MINUTE, MINUTE
)
HOPPING = Windows(
    "hopping 10 min / 10 s",
    fl.hopping("10 minutes", every="10 seconds"),
    lambda: functions.window("ts", "10 minutes", "10 seconds"),
    10 * MINUTE,
    MINUTE // 6,
)


@dataclass(frozen=True, slots=True)
class Contestant:
    """One way to compute windows, what it plays, and how many of its first batches do not count."""

    name: str
    windows: Windows
    query: Callable[[DataFrame], DataFrame]
    files: Files
    warm: int
    repeats: bool = False
    """Whether a pane may leave more than once."""


def fanlight(name: str, windows: Windows, files: Files, warm: int) -> Contestant:
    """Fanlight, firing once."""

    def query(source: DataFrame) -> DataFrame:
        return _summed(_orders(source).window(windows.kind))

    return Contestant(name, windows, query, files, warm)


def fanlight_early(name: str, windows: Windows, files: Files, warm: int) -> Contestant:
    """Fanlight with an early firing of every pane that a batch has changed, each taking back the one before."""

    def query(source: DataFrame) -> DataFrame:
        early = fl.at_watermark(early=fl.after(1))
        return _summed(_orders(source).window(windows.kind).trigger(early).retracting())

    return Contestant(name, windows, query, files, warm, repeats=True)


def native(name: str, windows: Windows, files: Files, warm: int) -> Contestant:
    """Spark's own `groupBy(window(…), key)`."""

    def query(source: DataFrame) -> DataFrame:
        price = functions.col("price")
        groups = source.withWatermark("ts", DELAY).groupBy(windows.column(), "key")
        return groups.agg(
            functions.count("*").alias("n"),
            functions.sum(price).alias("revenue"),
            functions.max(price).alias("highest"),
        )

    return Contestant(name, windows, query, files, warm)


def by_key(name: str, files: Files, warm: int) -> Contestant:
    """A processor of Spark's that is grouped by the key, as its documentation shows."""

    def query(source: DataFrame) -> DataFrame:
        groups = source.withWatermark("ts", DELAY).groupBy("key")
        rows = groups.transformWithStateInPandas(MinuteProcessor(), LEAVING, "append", "eventTime")
        start = functions.timestamp_millis("start").alias("start")
        return rows.select("key", functions.struct(start).alias("window"), "n", "revenue", "highest")

    return Contestant(name, TUMBLING, query, files, warm)


def _orders(source: DataFrame) -> fl.Stream:
    return fl.stream(source, time="ts", delay=DELAY).key_by("key")


def _summed(windowed: fl.Windowed) -> DataFrame:
    return windowed.agg(n=fl.count(), revenue=fl.sum("price"), highest=fl.max("price")).df
