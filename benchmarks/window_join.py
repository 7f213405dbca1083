"""Rows of two streams in the same ten seconds, through the whole engine, against DuckDB's join on key and window.

DuckDB has both sides in memory, on one thread, and nothing arrives. And what other joins by window cost beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Contestant, Play, rows_of
from benchmarks.figures import Figures, Scale, at_most, table
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.measure import Measured, side_by_side
from benchmarks.meetings import Meetings
from benchmarks.two_sides import joined_by_duckdb, joined_by_fanlight, pairs_of

OUTER = 1.5
SIZE = 10_000_000
ON_CLOSE, EAGER, LEFT = "Fanlight, on close", "Fanlight, eager", "Fanlight, left on close"
DUCKDB = "DuckDB, one shot"
SQL = """
    SELECT l.key, l.ts, l.price, r.ts AS ts_p, r.price AS price_p
    FROM lefts AS l JOIN rights AS r
    ON l.key = r.key AND epoch_us(l.ts) // 10000000 = epoch_us(r.ts) // 10000000
"""


def run(scale: Scale) -> Figures:
    measured = _measured(scale)
    told = {LEFT: at_most(measured.ratio(ON_CLOSE, LEFT), OUTER)}
    rows = [
        [name, f"{times.speed:.2f}", f"{times.rows_out:,}", f"{measured.ratio(ON_CLOSE, name):.2f}", told.get(name, "")]
        for name, times in measured.times.items()
    ]
    head = ["the same 10 s, 120 rows a key", "M rows/s", "rows out", "on close to it", "bar"]
    return Figures("window_join", scale, (table(head, rows),), measured.busy, ("duckdb",))


def _measured(scale: Scale) -> Measured:
    meetings = Meetings(scale.rows // 2)
    expected = Fingerprint.of(defined_pairs(meetings))
    kinds: list[tuple[str, Callable[[Any], Any], dict[str, str]]] = [
        (ON_CLOSE, lambda joined: joined, {}),
        (EAGER, lambda joined: joined.eager(), {}),
        (LEFT, lambda joined: joined, {"how": "left"}),
    ]
    contestants = [
        Contestant(
            name,
            _ours(meetings, when, **said),
            partial(FingerprintAudit, name, pairs_of, expected),
            rows_of(meetings.bundles()),
            len(meetings.bundles()) + 1,
        )
        for name, when, said in kinds
    ]
    duckdb = Contestant(
        DUCKDB, joined_by_duckdb(meetings, SQL), partial(FingerprintAudit, DUCKDB, pairs_of, expected), meetings.rows, 1
    )
    return side_by_side("window join", [*contestants, duckdb], scale.rounds)


def _ours(meetings: Meetings, when: Callable[[Any], Any], **said: Any) -> Play:
    def join(left: fl.Stream, right: fl.Stream) -> Any:
        return when(left.join(right, fl.same_window(fl.tumbling("10 s")), **said))

    return joined_by_fanlight(*meetings.sides(), join)


def defined_pairs(meetings: Meetings) -> Columns:
    """All pairs, by counting the right rows of each key and window."""
    sides = []
    for side in map(pa.Table.from_batches, meetings.sides()):
        key, time = side.column("key").to_numpy(), side.column("ts").cast(pa.int64()).to_numpy()
        places = key * (1 << 32) + time // SIZE
        order = np.argsort(places, kind="stable")
        sides.append((places[order], key[order], time[order], side.column("price").to_numpy()[order]))
    (line, key, time, price), (places, _, when, paid) = sides
    first, after = np.searchsorted(places, line), np.searchsorted(places, line, side="right")
    each = after - first
    ends = np.cumsum(each)
    rights = np.repeat(first - (ends - each), each) + np.arange(ends[-1])
    lefts = np.repeat(np.arange(len(line)), each)
    return key[lefts], time[lefts], when[rights], price[lefts], paid[rights]
