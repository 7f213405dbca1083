"""Several stages and several inputs on Spark, in one query: what they cost beside the first stage, and beside one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions

import fanlight as fl
from benchmarks import stages
from benchmarks.data import Orders
from benchmarks.figures import Scale, at_most, table
from benchmarks.spark.check import check
from benchmarks.spark.contestants import DELAY, Contestant
from benchmarks.spark.few import few, last_watermark
from benchmarks.spark.files import Files
from benchmarks.spark.load import Load
from benchmarks.spark.report import SparkFigures
from benchmarks.spark.rounds import Accepted, side_by_side
from benchmarks.spark.session import session
from benchmarks.stages import BEST, COUNTS, EARLY, MINUTE, ONE, SUMS, TWO
from benchmarks.totals import floored

UNITED = "one input, which Spark makes of two sources"
SPARK_ONE, SPARK_TWO = "Spark's own counts by minute, one input", "Spark's own, two inputs"
_WARM = 3
"""Batches of a play that do not count."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Windows that count the orders of a key: how long they are, and how often one starts."""

    name: str
    size: int
    every: int

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The counts of closed windows, less what was taken back."""
        start = pc.struct_field(rows.column("window"), "start").cast(pa.int64())
        counts = rows.column("n")
        if "pane" in rows.column_names:
            taken = pc.is_in(pc.struct_field(rows.column("pane"), "op"), pa.array(["-U", "-D"]))
            counts = pc.if_else(taken, pc.negate(counts), counts)
        return self._added_up(pa.table({"key": rows.column("key"), "start": start, "n": counts}))

    def defined(self) -> pa.Table:
        """A record counts in each of the windows that cover its time."""
        rows = few()
        slices = floored(rows.column("ts"), self.every)
        once = pa.array(np.ones(len(rows), np.int64))
        key = rows.column("key")
        starts = [pc.subtract(slices, back) for back in range(0, self.size, self.every)]
        return self._added_up(pa.concat_tables(pa.table({"key": key, "start": one, "n": once}) for one in starts))

    def _added_up(self, rows: pa.Table) -> pa.Table:
        closed = rows.filter(pc.less_equal(rows.column("start"), last_watermark() - self.size))
        summed = closed.group_by(["key", "start"], use_threads=False).aggregate([("n", "sum")])
        return summed.sort_by([("key", "ascending"), ("start", "ascending")]).combine_chunks()


@dataclass(frozen=True, slots=True)
class SummedAgain:
    """Sums of ten minutes over what hopping windows count that end in them."""

    name: str = EARLY

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The sums of closed windows."""
        start = pc.struct_field(rows.column("window"), "start").cast(pa.int64())
        return pa.table({"start": start, "n_sum": rows.column("n")}).sort_by("start").combine_chunks()

    def defined(self) -> pa.Table:
        """A hopping window that starts at `s` ends, and so has its time, just before `s` and ten minutes."""
        hopping = HOPPING.defined()
        last = pc.add(hopping.column("start"), 10 * MINUTE - 1)
        tens = pa.table({"start": floored(last, 10 * MINUTE), "n": hopping.column("n_sum")})
        closed = tens.filter(pc.less_equal(tens.column("start"), last_watermark() - 10 * MINUTE))
        return closed.group_by("start", use_threads=False).aggregate([("n", "sum")]).sort_by("start").combine_chunks()


@dataclass(frozen=True, slots=True)
class Best:
    """The greatest counts of each minute."""

    name: str = COUNTS

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The greatest counts of closed windows."""
        return _as_table(stages.first_counts(rows))

    def defined(self) -> pa.Table:
        """The same by the definition."""
        closed = last_watermark() - MINUTE
        return _as_table({start: top for start, top in stages.greatest(few()).items() if start <= closed})


@dataclass(frozen=True, slots=True)
class Totals:
    """How many orders each minute has, whatever their keys."""

    name: str

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The counts of closed windows."""
        assert not repeats
        start = pc.struct_field(rows.column("window"), "start").cast(pa.int64())
        return pa.table({"start": start, "n": rows.column("n")}).sort_by("start").combine_chunks()

    def defined(self) -> pa.Table:
        """The counts of minutes that have ended before the last watermark."""
        starts = pa.table({"start": floored(few().column("ts"), MINUTE)})
        counted = starts.group_by("start", use_threads=False).aggregate([([], "count_all")])
        closed = counted.filter(pc.less_equal(counted.column("start"), last_watermark() - MINUTE))
        return closed.rename_columns(["start", "n"]).sort_by("start").combine_chunks()


MINUTES = Counted(COUNTS, MINUTE, MINUTE)
HOPPING = Counted(EARLY, 10 * MINUTE, MINUTE)
INPUTS = Counted(ONE, MINUTE, MINUTE)


@dataclass(frozen=True, slots=True)
class Contest:
    """Two contestants, and how many times the cost of the first the second may have; None for orientation."""

    first: Contestant
    second: Contestant
    bar: float | None
    third: Contestant | None = None
    """What its cost is, too, for orientation."""

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """All of them, in the order of their turns."""
        return (self.first, self.second, *([] if self.third is None else [self.third]))


def contests(scale: Scale) -> tuple[Contest, ...]:
    """All over the same orders."""
    files = Files(Orders(scale.rows, keys=scale.rows // 2_000))

    def counts(source: DataFrame) -> DataFrame:
        return stages.counts(stages.orders(source)).df

    def best(source: DataFrame) -> DataFrame:
        return stages.best(stages.counts(stages.orders(source))).df

    def early(source: DataFrame) -> DataFrame:
        return stages.early(stages.orders(source)).df

    def sums(source: DataFrame) -> DataFrame:
        return stages.sums(stages.early(stages.orders(source))).df

    def both(web: DataFrame, shop: DataFrame) -> DataFrame:
        return stages.counts(fl.union(web=stages.orders(web), shop=stages.orders(shop))).df

    def united(web: DataFrame, shop: DataFrame) -> DataFrame:
        return counts(web.union(shop))

    def spark_alone(*sources: DataFrame) -> DataFrame:
        windows = (
            reduce(DataFrame.union, sources).withWatermark("ts", DELAY).groupBy(functions.window("ts", "1 minute"))
        )
        return windows.agg(functions.count("*").alias("n"))

    totals = Totals(SPARK_ONE)
    return (
        Contest(
            Contestant(COUNTS, MINUTES, counts, files, _WARM),
            Contestant(BEST, Best(), best, files, _WARM),
            1.3,
        ),
        Contest(
            Contestant(EARLY, HOPPING, early, files, _WARM, repeats=True),
            Contestant(SUMS, SummedAgain(), sums, files, _WARM),
            3,
        ),
        Contest(
            Contestant(ONE, INPUTS, counts, files, _WARM),
            Contestant(TWO, INPUTS, both, files, _WARM, inputs=2),
            1.1,
            Contestant(UNITED, INPUTS, united, files, _WARM, inputs=2),
        ),
        Contest(
            Contestant(SPARK_ONE, totals, spark_alone, files, _WARM),
            Contestant(SPARK_TWO, totals, spark_alone, files, _WARM, inputs=2),
            None,
        ),
    )


def run(scale: Scale) -> SparkFigures:
    held, load = contests(scale), Load()
    with TemporaryDirectory(prefix="fanlight-benchmarks-") as folder, session(room := Path(folder)) as spark:
        for contest in held:
            for contestant in contest.contestants:
                check(spark, contestant, room)
        with load:
            taken = [(contest, side_by_side(spark, contest.contestants, scale.rounds, room)) for contest in held]
    rows = [row for contest, found in taken for row in _told(contest, found)]
    head = ["", "rows in", "rows out", "ms a batch", "M rows/s", "cost", "bar"]
    return SparkFigures("graph", scale, (table(head, rows),), load.others)


def _told(contest: Contest, taken: Accepted) -> list[list[str]]:
    """What the contestants took."""
    first, second, *third = (contestant.name for contestant in contest.contestants)
    cost = taken.ratio(first, second)
    bar = "" if contest.bar is None else at_most(cost, contest.bar)
    told = {first: ["1.00", ""], second: [f"{cost:.2f}", bar]}
    told |= {name: [f"{taken.ratio(first, name):.2f}", ""] for name in third}
    return [
        [
            name,
            f"{taken.rows(name):,}",
            f"{taken.rows_out(name):,}",
            f"{taken.milliseconds(name):,.0f}",
            f"{taken.speed(name):.3g}",
            *told[name],
        ]
        for name in told
    ]


def _as_table(greatest: dict[int, list[int]]) -> pa.Table:
    starts = sorted(greatest)
    return pa.table({"start": starts, "n": pa.array([greatest[start] for start in starts], pa.list_(pa.int64()))})
