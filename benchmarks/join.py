"""Rows of two streams that meet within five seconds, through the whole engine, against DuckDB's range join.

DuckDB has both sides in memory, on one thread, and nothing arrives. And what other joins cost beside an inner one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Contestant, Play, rows_of
from benchmarks.figures import Figures, Scale, at_most, table, verdict
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.measure import Measured, side_by_side
from benchmarks.meetings import REACH, Meetings
from benchmarks.two_sides import joined_by_duckdb, joined_by_fanlight, pairs_of

BAR, OUTER, SKEW = 3, 1.5, 2
EAGER, ON_CLOSE, LEFT = "Fanlight, eager", "Fanlight, on close", "Fanlight, left on close"
HOT, DUCKDB = "Fanlight, eager, one key with a tenth of the rows", "DuckDB, one shot"
SQL = """
    SELECT l.key, l.ts, l.price, r.ts AS ts_p, r.price AS price_p
    FROM lefts AS l JOIN rights AS r ON l.key = r.key AND r.ts BETWEEN l.ts AND l.ts + INTERVAL 5 SECOND
"""


def run(scale: Scale) -> Figures:
    measured = _measured(scale)
    told = {
        DUCKDB: verdict(measured.ratio(EAGER, DUCKDB), BAR),
        LEFT: at_most(measured.ratio(ON_CLOSE, LEFT), OUTER),
        HOT: at_most(measured.ratio(EAGER, HOT), SKEW),
    }
    rows = [
        [name, f"{times.speed:.2f}", f"{times.rows_out:,}", f"{measured.ratio(EAGER, name):.2f}", told.get(name, "")]
        for name, times in measured.times.items()
    ]
    head = ["within 5 s, 120 rows a key", "M rows/s", "rows out", "eager to it", "bar"]
    return Figures("join", scale, (table(head, rows),), measured.busy, ("duckdb",))


def _measured(scale: Scale) -> Measured:
    plain, hot = Meetings(scale.rows // 2), Meetings(scale.rows // 2, hot=True)
    expected, of_hot = (Fingerprint.of(defined_pairs(one)) for one in (plain, hot))
    kinds: list[tuple[str, Meetings, Callable[[Any], Any], dict[str, str], Fingerprint]] = [
        (EAGER, plain, lambda joined: joined.eager(), {}, expected),
        (ON_CLOSE, plain, lambda joined: joined.on_close(), {}, expected),
        (LEFT, plain, lambda joined: joined.on_close(), {"how": "left"}, expected),
        (HOT, hot, lambda joined: joined.eager(), {}, of_hot),
    ]
    contestants = [
        Contestant(
            name,
            _ours(meetings, when, **said),
            partial(FingerprintAudit, name, pairs_of, rows),
            rows_of(meetings.bundles()),
            len(meetings.bundles()) + 1,
        )
        for name, meetings, when, said, rows in kinds
    ]
    duckdb = Contestant(
        DUCKDB, joined_by_duckdb(plain, SQL), partial(FingerprintAudit, DUCKDB, pairs_of, expected), plain.rows, 1
    )
    return side_by_side("join", [*contestants, duckdb], scale.rounds)


def _ours(meetings: Meetings, when: Callable[[Any], Any], **said: Any) -> Play:
    def join(left: fl.Stream, right: fl.Stream) -> Any:
        return when(left.join(right, fl.interval("0 s", "5 s"), **said))

    return joined_by_fanlight(*meetings.sides(), join)


def defined_pairs(meetings: Meetings) -> Columns:
    """All pairs, by searching each left row's five seconds among the right rows of its key."""
    sides = []
    for side in map(pa.Table.from_batches, meetings.sides()):
        key, time = side.column("key").to_numpy(), side.column("ts").cast(pa.int64()).to_numpy()
        order = np.lexsort([time, key])
        sides.append((key[order], time[order], side.column("price").to_numpy()[order]))
    (key, time, price), (other, when, paid) = sides
    start = min(time.min(), when.min())
    line, places = key * (1 << 32) + (time - start), other * (1 << 32) + (when - start)
    first, after = np.searchsorted(places, line), np.searchsorted(places, line + REACH, side="right")
    each = after - first
    ends = np.cumsum(each)
    rights = np.repeat(first - (ends - each), each) + np.arange(ends[-1])
    lefts = np.repeat(np.arange(len(line)), each)
    return key[lefts], time[lefts], when[rights], price[lefts], paid[rights]
