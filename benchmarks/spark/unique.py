"""One row of each id: Fanlight's `unique_by` against Spark's `dropDuplicatesWithinWatermark`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl
from benchmarks.figures import Scale
from benchmarks.repeats import Repeats
from benchmarks.spark.contestants import DELAY, Contestant
from benchmarks.spark.files import Files
from benchmarks.spark.pairs import OURS, Contest, held
from benchmarks.spark.report import SparkFigures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

THEIRS = "Spark `dropDuplicatesWithinWatermark`"
WITHIN = "10 minutes"
BAR = 5
FEW = Files(Repeats(60_000), cut=3, first=3)

_WARM, _SLOW = 4, 6
"""Batches that do not count: ids are kept for twenty minutes, and four files have more. And those that Spark plays."""


@dataclass(frozen=True, slots=True)
class OneOfEach:
    """The ids of the rows that leave, each once."""

    name: str

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The ids; which of two orders in one batch has left is no law of Spark's."""
        assert not repeats
        return rows.select(["key"]).sort_by("key").combine_chunks()

    def defined(self) -> pa.Table:
        """All ids, because what comes twice comes within nine minutes."""
        ids = pa.Table.from_batches(FEW.orders.bundles()).column("key")
        return pa.table({"key": pc.unique(ids)}).sort_by("key").combine_chunks()


def contests(scale: Scale) -> tuple[Contest, ...]:
    """Twenty million rows and half as many ids; or fewer."""
    orders, each = Repeats(scale.rows), OneOfEach("one row of each id within 10 min")

    def ours(source: DataFrame) -> DataFrame:
        return fl.stream(source, time="ts", delay=DELAY).unique_by("key", within=WITHIN).df

    def theirs(source: DataFrame) -> DataFrame:
        return source.withWatermark("ts", WITHIN).dropDuplicatesWithinWatermark(["key"])

    pair = (
        Contestant(OURS, each, ours, Files(orders), _WARM, writes=True),
        Contestant(THEIRS, each, theirs, Files(orders, first=_SLOW), _WARM, writes=True),
    )
    return (Contest(pair, BAR, few=FEW),)


def run(scale: Scale) -> SparkFigures:
    return held("unique", scale, contests(scale))
