"""The contests on Spark, and the bars their ratios are held against."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.figures import Scale, at_most, table, verdict
from benchmarks.spark.aligned import HOPPING, TUMBLING
from benchmarks.spark.check import check
from benchmarks.spark.contests import BY_KEY, EARLY, OURS, OURS_MANY, PATIENT, THEIRS, Contests
from benchmarks.spark.load import Load
from benchmarks.spark.play import Played, play
from benchmarks.spark.report import SPEEDS, SparkFigures, speeds
from benchmarks.spark.rounds import Accepted, side_by_side
from benchmarks.spark.session import session

States = dict[str, tuple[float, float]]
"""By windows: the bytes that Fanlight and that Spark leave on disk."""


def run(scale: Scale) -> SparkFigures:
    contests, load = Contests.of(scale), Load()
    with TemporaryDirectory(prefix="fanlight-benchmarks-") as folder, session(room := Path(folder)) as spark:
        for contestant in contests.different:
            check(spark, contestant, room)
        with load:
            tumbling = side_by_side(spark, contests.tumbling, scale.rounds, room)
            hopping = side_by_side(spark, contests.hopping, scale.rounds, room)
            small = side_by_side(spark, contests.small, scale.rounds, room)
            slow = play(spark, contests.hopping_slow, room)
    states = {
        TUMBLING.name: (_state(tumbling.plays[OURS]), _state(tumbling.plays[THEIRS])),
        HOPPING.name: (_state([slow]), _state(hopping.plays[THEIRS])),
    }
    tables = (
        _bars(tumbling, hopping, small, states),
        _speeds(TUMBLING.name, tumbling),
        _speeds(HOPPING.name, hopping),
        _batches(small),
        _sizes(states),
    )
    return SparkFigures("spark", scale, tables, load.others)


def _bars(tumbling: Accepted, hopping: Accepted, small: Accepted, states: States) -> str:
    """What was promised, and what was found."""
    at_least = (
        ("tumbling 1 min, to Spark's", tumbling.ratio(OURS, THEIRS), 0.8),
        ("hopping 10 min / 10 s, to Spark's", hopping.ratio(OURS, THEIRS), 12),
        ("tumbling 1 min, to a processor grouped by key", tumbling.ratio(OURS, BY_KEY), 15),
        ("hopping, early and retracting, to Spark's without", hopping.ratio(EARLY, THEIRS), 3),
        ("hopping, lateness 1 hour and nothing late, to none", hopping.ratio(PATIENT, OURS), 0.8),
    )
    within = (
        ("100 times the keys: time a row, to that with few", tumbling.ratio(OURS, OURS_MANY), 2),
        ("a batch of 1,000 rows: time, to Spark's", small.ratio(THEIRS, OURS, lambda played: played.milliseconds), 1.5),
        ("state on disk, lateness 1 hour, to none", _state(hopping.plays[PATIENT]) / _state(hopping.plays[OURS]), 2),
        *((f"state on disk, {windows}, to Spark's", ours / theirs, 1) for windows, (ours, theirs) in states.items()),
    )
    rows = [[name, f"{ratio:.2f}", verdict(ratio, bar)] for name, ratio, bar in at_least]
    rows += [[name, f"{ratio:.2f}", at_most(ratio, bar)] for name, ratio, bar in within]
    return table(["Fanlight", "ratio", "bar"], rows)


def _speeds(windows: str, taken: Accepted) -> str:
    return table([windows, *SPEEDS], [speeds(taken, name, OURS) for name in taken.plays])


def _batches(taken: Accepted) -> str:
    rows = [[name, f"{taken.milliseconds(name):,.0f}"] for name in taken.plays]
    return table(["tumbling 1 min, batches of 1,000 rows", "ms a batch"], rows)


def _sizes(states: States) -> str:
    rows = [[windows, *(f"{size / 1e6:.1f}" for size in sizes)] for windows, sizes in states.items()]
    return table(["state on disk, MB", OURS, THEIRS], rows)


def _state(plays: Iterable[Played]) -> float:
    return median(played.state for played in plays)
