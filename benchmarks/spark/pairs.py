"""Contests of two on Spark: Fanlight, and somebody it must be so many times as fast as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.figures import Scale, table, verdict
from benchmarks.spark.check import check
from benchmarks.spark.contestants import Contestant
from benchmarks.spark.few import FEW
from benchmarks.spark.files import Files
from benchmarks.spark.load import Load
from benchmarks.spark.report import SPEEDS, SparkFigures, speeds
from benchmarks.spark.rounds import Accepted, side_by_side
from benchmarks.spark.session import session

OURS, BY_SPARK, BY_KEY = "Fanlight", "Fanlight, written by Spark", "Spark, a processor grouped by key"


@dataclass(frozen=True, slots=True)
class Contest:
    """Contestants in the order of their turns, Fanlight first, and how many times as fast it must be as the second.

    Others after these two have no bar.
    """

    contestants: tuple[Contestant, ...]
    bar: float
    speed: float | None = None
    """How many million rows a second Fanlight must take besides; None for any number."""
    few: Files = FEW
    """What is played to see whether they are right."""

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.contestants[0].windows.name


def held(
    name: str, scale: Scale, contests: Sequence[Contest], checked: Sequence[Contest] | None = None
) -> SparkFigures:
    """The contests, after a look at whether contestants are right: of all contests, or of those `checked`."""
    load = Load()
    with TemporaryDirectory(prefix="fanlight-benchmarks-") as folder, session(room := Path(folder)) as spark:
        for contest in contests if checked is None else checked:
            for contestant in contest.contestants:
                check(spark, contestant, room, contest.few)
        with load:
            taken = [(contest, side_by_side(spark, contest.contestants, scale.rounds, room)) for contest in contests]
    tables = (_bars(taken), *(_speeds(contest, found) for contest, found in taken))
    return SparkFigures(name, scale, tables, load.others)


def _bars(taken: list[tuple[Contest, Accepted]]) -> str:
    """What was promised, and what was found."""
    rows = []
    for contest, found in taken:
        other = contest.contestants[1].name
        ratio = found.ratio(OURS, other)
        rows.append([f"{contest.name}, to {other}", f"{ratio:.2f}", verdict(ratio, contest.bar)])
        if contest.speed is not None:
            speed = found.speed(OURS)
            rows.append([f"{contest.name}, M rows/s", f"{speed:.2f}", verdict(speed, contest.speed)])
    return table(["Fanlight", "ratio", "bar"], rows)


def _speeds(contest: Contest, taken: Accepted) -> str:
    rows = [
        [*speeds(taken, name, OURS), f"{median(played.state for played in plays) / 1e6:.1f}"]
        for name, plays in taken.plays.items()
    ]
    return table([contest.name, *SPEEDS, "state on disk, MB"], rows)
