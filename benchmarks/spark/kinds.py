"""Windows that each key has for itself, on Spark: sessions and trailing averages, and the bars of their ratios."""

from __future__ import annotations

from benchmarks.data import Orders
from benchmarks.figures import Scale
from benchmarks.spark import sessions, trailing
from benchmarks.spark.files import Files
from benchmarks.spark.pairs import BY_KEY, OURS, Contest, held
from benchmarks.spark.report import SparkFigures
from benchmarks.visits import Visits

NATIVE = "Spark `session_window`"
SESSIONS, TRAILING = 5, 15

_WARM, _WARM_SLOW = 2, 1
"""Batches of a play that do not count."""
_SLOW = 3
"""Batches that are enough for a contestant that takes most of a minute for one."""
_CUT = 2
"""Files of sessions: about as many rows each as those of the averages have. The second counts."""


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
    contests_held = contests(scale)
    return held("kinds", scale, contests_held, checked=contests_held[1:])  # the first two differ in their files alone


def _of_sessions(windows: sessions.SessionWindows, files: Files) -> Contest:
    ours = sessions.fanlight(OURS, windows, files, _CUT - 1)
    return Contest((ours, sessions.native(NATIVE, windows, files, _CUT - 1)), SESSIONS)
