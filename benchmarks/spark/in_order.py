"""Rows in the order of their times: Fanlight's `sort`, and Spark's rows by key, which are in none; of a few orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.spark.contestants import Contestant, orders
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PARTITIONS = 2


@dataclass(frozen=True, slots=True)
class RowsByKey:
    """Every record, as it came; with `sorted` those of a key in the order of their times, as the watermark passes."""

    name: str
    sorted: bool

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The rows by key: keys and times in the order in which they left, if that is theirs."""
        assert not repeats
        return self._by_key(rows, as_they_left=self.sorted)

    def defined(self) -> pa.Table:
        """All records, or those that the watermark has passed."""
        rows = few()
        passed = rows.filter(pc.less(rows.column("ts").cast(pa.int64()), last_watermark()))
        return self._by_key(passed if self.sorted else rows, as_they_left=False)

    def _by_key(self, rows: pa.Table, *, as_they_left: bool) -> pa.Table:
        whole = rows.select(["key", "ts", "price"]).set_column(1, "ts", rows.column("ts").cast(pa.int64()))
        by = [(name, "ascending") for name in whole.column_names]
        ordered = whole.sort_by(by)
        times = whole.sort_by(by[:1]).column("ts") if as_they_left else ordered.column("ts")  # Arrow's sort is stable
        return ordered.append_column("left", times).combine_chunks()


def fanlight(name: str, windows: RowsByKey, files: Files, warm: int) -> Contestant:
    """Fanlight's `sort`, by key: the rows of a shard are in one order."""

    def query(source: DataFrame) -> DataFrame:
        return orders(source).sort().df

    return Contestant(name, windows, query, files, warm, writes=True)


def repartitioned(name: str, windows: RowsByKey, files: Files, warm: int) -> Contestant:
    """Spark's rows by key, in no order: what it costs that the rows of a key meet."""

    def query(source: DataFrame) -> DataFrame:
        return source.repartition(_PARTITIONS, "key")

    return Contestant(name, windows, query, files, warm, writes=True)
