"""What the Spark engine is compared with itself on: Fanlight's contestants of the contests, by name."""

from __future__ import annotations

from benchmarks.figures import Scale
from benchmarks.spark import kinds
from benchmarks.spark.contestants import Contestant
from benchmarks.spark.contests import EARLY, OURS, OURS_MANY, PATIENT, Contests

HOPPING, HOPPING_LATE = "hopping", "hopping, an hour of lateness"
NAMES = (
    "tumbling",
    HOPPING,
    HOPPING_LATE,
    "hopping, early and retracting",
    "a million keys",
    "batches of 1,000 rows",
    "sessions",
    "sessions of one order",
    "trailing average",
)


def case(name: str, scale: Scale) -> Contestant:
    """The contestant that plays a case."""
    contests = Contests.of(scale)
    tumbling = {contestant.name: contestant for contestant in contests.tumbling}
    hopping = {contestant.name: contestant for contestant in contests.hopping}
    own_windows = [contest.contestants[0] for contest in kinds.contests(scale)]
    contestants = (
        tumbling[OURS],
        hopping[OURS],
        hopping[PATIENT],
        hopping[EARLY],
        tumbling[OURS_MANY],
        contests.small[0],
        *own_windows,
    )
    return dict(zip(NAMES, contestants, strict=True))[name]
