"""Windows that each key has for itself, on Spark: sessions and trailing averages, and the bars of their ratios."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.data import Orders
from benchmarks.figures import Scale, table, verdict
from benchmarks.spark import sessions, trailing
from benchmarks.spark.check import check
from benchmarks.spark.contestants import Contestant
from benchmarks.spark.files import Files
from benchmarks.spark.load import Load
from benchmarks.spark.report import SPEEDS, SparkFigures, speeds
from benchmarks.spark.rounds import Accepted, side_by_side
from benchmarks.spark.session import session
from benchmarks.visits import Visits

OURS, NATIVE, BY_KEY = "Fanlight", "Spark `session_window`", "Spark, a processor grouped by key"
SESSIONS, TRAILING = 5, 15

_WARM, _WARM_SLOW = 2, 1
"""Batches of a play that do not count."""
_SLOW = 3
"""Batches that are enough for a contestant that takes most of a minute for one."""
_CUT = 2
"""Files of sessions: about as many rows each as those of the averages have. The second counts."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Contestants in the order of their turns, Fanlight first, and how many times as fast it must be as the other."""

    contestants: tuple[Contestant, Contestant]
    bar: float

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.contestants[0].windows.name


def contests(scale: Scale) -> tuple[Contest, ...]:
    """Sessions of five million rows and a million keys, averages of twenty million and ten thousand; or fewer."""
    rows, keys = scale.rows // 4, scale.rows // 20
    minutes = Orders(scale.rows, keys=scale.rows // 2_000)
    visits = sessions.SessionWindows("sessions, visits of five orders")
    single = sessions.SessionWindows("sessions, orders far apart")
    average = trailing.TrailingWindows("trailing average over 60 s")
    return (
        _of_sessions(visits, Files(Visits(rows, keys), cut=_CUT, first=_CUT)),
        _of_sessions(single, Files(Orders(rows, keys), cut=_CUT, first=_CUT)),
        Contest(
            (
                trailing.fanlight(OURS, average, Files(minutes, first=2 * _SLOW), _WARM),
                trailing.by_key(BY_KEY, average, Files(minutes, first=_SLOW), _WARM_SLOW),
            ),
            TRAILING,
        ),
    )


def run(scale: Scale) -> SparkFigures:
    held, load = contests(scale), Load()
    with TemporaryDirectory(prefix="fanlight-benchmarks-") as folder, session(room := Path(folder)) as spark:
        for contest in held[1:]:  # the first two differ in their files alone
            for contestant in contest.contestants:
                check(spark, contestant, room)
        with load:
            taken = [(contest, side_by_side(spark, contest.contestants, scale.rounds, room)) for contest in held]
    tables = (_bars(taken), *(_speeds(contest, found) for contest, found in taken))
    return SparkFigures("kinds", scale, tables, load.others)


def _of_sessions(windows: sessions.SessionWindows, files: Files) -> Contest:
    ours = sessions.fanlight(OURS, windows, files, _CUT - 1)
    return Contest((ours, sessions.native(NATIVE, windows, files, _CUT - 1)), SESSIONS)


def _bars(taken: list[tuple[Contest, Accepted]]) -> str:
    """What was promised, and what was found."""
    rows = []
    for contest, found in taken:
        other = contest.contestants[1].name
        ratio = found.ratio(OURS, other)
        rows.append([f"{contest.name}, to {other}", f"{ratio:.2f}", verdict(ratio, contest.bar)])
    return table(["Fanlight", "ratio", "bar"], rows)


def _speeds(contest: Contest, taken: Accepted) -> str:
    rows = [
        [*speeds(taken, name, OURS), f"{median(played.state for played in plays) / 1e6:.1f}"]
        for name, plays in taken.plays.items()
    ]
    return table([contest.name, *SPEEDS, "state on disk, MB"], rows)
