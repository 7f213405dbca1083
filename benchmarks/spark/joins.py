"""Rows of two streams that meet within five seconds: Fanlight's interval join against Spark's stream-stream join.

Spark's own plays a tenth of the rows, of a tenth of the keys: a row meets as many others, and it takes as long a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import functions

import fanlight as fl
from benchmarks.figures import Scale, at_most, table, verdict
from benchmarks.join import defined_pairs
from benchmarks.meetings import Meetings
from benchmarks.spark.check import check
from benchmarks.spark.contestants import DELAY, Contestant
from benchmarks.spark.files import Files
from benchmarks.spark.load import Load
from benchmarks.spark.report import SPEEDS, SparkFigures, speeds
from benchmarks.spark.rounds import Accepted, side_by_side
from benchmarks.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OURS, LEFT, HOT = "Fanlight", "Fanlight, left on close", "Fanlight, one key with a tenth of the rows"
SPREAD = "Fanlight, that key spread over spans of 10 s"
FEWER = "Fanlight, a tenth of the rows"
FORMAT_4, FORMAT_2 = "Spark's join, state format 4", "Spark's join, state format 2"
FEW = Files(Meetings(60_000), cut=3, first=3)
SPEED = 0.75
BARS = {FORMAT_4: 15, FORMAT_2: 25}
COSTS = {LEFT: 1.5, HOT: 2, SPREAD: 2}

_WARM = 3
"""Batches of a play that do not count."""
_VERSION = "spark.sql.streaming.join.stateFormatVersion"
_NAMES = ["key", "ts", "ts_p", "price", "price_p"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every pair of rows that are no further apart."""

    name: str = "within 5 s, 120 rows a key"

    def found(self, rows: pa.Table, *, repeats: bool) -> pa.Table:
        """The pairs in order; a row without a match is none, and its pairs may still be missing."""
        del repeats
        rows = rows.filter(rows.column("ts_p").is_valid())
        times = {name: rows.column(name).cast(pa.int64()) for name in ("ts", "ts_p")}
        others = {name: rows.column(name) for name in ("key", "price", "price_p")}
        return _in_order(pa.table({**times, **others}))

    def defined(self) -> pa.Table:
        """The same by the definition."""
        return _in_order(pa.table(dict(zip(_NAMES, defined_pairs(FEW.orders), strict=True))))


@dataclass(frozen=True, slots=True)
class CompletePairs(Pairs):
    """Those of left rows that are complete when the last row has come."""

    def defined(self) -> pa.Table:
        """A left row is complete when the right side's watermark has passed its five seconds."""
        pairs, ends = Pairs.defined(self), []
        for side in FEW.orders.sides():
            latest = max(batch.column("ts").cast(pa.int64()).to_numpy().max() for batch in side)
            ends.append(int(latest) - 5_000_000)
        return pairs.filter(np.less(pairs.column("ts").to_numpy(), min(ends[0], ends[1] - 5_000_000)))


def contestants(scale: Scale) -> tuple[Contestant, ...]:
    """In the order of their turns."""
    rows = scale.rows // 2
    many, hot, few = (Files(one) for one in (Meetings(rows), Meetings(rows, hot=True), Meetings(rows // 10)))
    inner, left = Pairs(), CompletePairs()
    return (
        _contestant(OURS, inner, _fanlight("inner"), many),
        _contestant(LEFT, left, _fanlight("left"), many),
        _contestant(HOT, inner, _fanlight("inner"), hot),
        _contestant(SPREAD, inner, _fanlight("inner", spread="10 s"), hot),
        _contestant(FEWER, inner, _fanlight("inner"), few),
        _contestant(FORMAT_4, inner, _native(4), few),
        _contestant(FORMAT_2, inner, _native(2), few),
    )


def run(scale: Scale) -> SparkFigures:
    held, load = contestants(scale), Load()
    with TemporaryDirectory(prefix="fanlight-benchmarks-") as folder, session(room := Path(folder)) as spark:
        for contestant in held:
            if contestant.name != HOT and contestant.name != FEWER:  # they are the first one over other rows
                check(spark, contestant, room, FEW)
        with load:
            taken = side_by_side(spark, held, scale.rounds, room)
    return SparkFigures("joins", scale, (_bars(taken), _speeds(taken)), load.others)


def _contestant(name: str, windows: Pairs, query: Callable[..., DataFrame], files: Files) -> Contestant:
    return Contestant(name, windows, query, files, _WARM, inputs=2, writes=True)


def _fanlight(how: Literal["inner", "left"], spread: str | None = None) -> Callable[..., DataFrame]:
    def query(orders: DataFrame, paid: DataFrame) -> DataFrame:
        o, p = (
            fl.stream(side, time="ts", delay=DELAY, name=name).key_by("key")
            for side, name in ((orders, "o"), (paid, "p"))
        )
        return o.join(p, fl.interval("0 s", "5 s"), how=how, spread=spread).df

    return query


def _native(version: int) -> Callable[..., DataFrame]:
    """Spark's own join, as its guide shows it."""

    def query(orders: DataFrame, paid: DataFrame) -> DataFrame:
        orders.sparkSession.conf.set(_VERSION, version)  # read when the query starts, which is at once
        o = orders.withWatermark("ts", DELAY)
        p = paid.select(*(functions.col(name).alias(f"{name}_p") for name in ("ts", "key", "price")))
        p = p.withWatermark("ts_p", DELAY)
        within = functions.expr("key = key_p AND ts_p >= ts AND ts_p <= ts + INTERVAL 5 SECONDS")
        return o.join(p, within).drop("key_p")

    return query


def _bars(taken: Accepted) -> str:
    """What was promised, and what was found."""
    rows = [
        [f"to {name}", f"{taken.ratio(OURS, name):.2f}", verdict(taken.ratio(OURS, name), BARS[name])] for name in BARS
    ]
    rows.append(["M rows/s", f"{taken.speed(OURS):.2f}", verdict(taken.speed(OURS), SPEED)])
    for name, bar in COSTS.items():
        cost = taken.ratio(OURS, name)
        rows.append([f"cost: {name}", f"{cost:.2f}", at_most(cost, bar)])
    states = {name: median(played.state for played in taken.plays[name]) for name in (FEWER, *BARS)}
    for name in BARS:
        share = states[FEWER] / states[name]
        rows.append([f"state on disk, to {name}", f"{share:.2f}", at_most(share, 1)])
    return table(["Fanlight", "ratio", "bar"], rows)


def _speeds(taken: Accepted) -> str:
    rows = [
        [*speeds(taken, name, OURS), f"{median(played.state for played in plays) / 1e6:.1f}"]
        for name, plays in taken.plays.items()
    ]
    return table([Pairs().name, *SPEEDS, "state on disk, MB"], rows)


def _in_order(pairs: pa.Table) -> pa.Table:
    chosen: Any = pairs.select(_NAMES)
    return chosen.sort_by([(name, "ascending") for name in _NAMES]).combine_chunks()
