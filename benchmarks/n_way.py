"""Rows of three streams that meet within five seconds: one join of all, and two joins one after the other.

Beside them DuckDB, which has all three in memory, on one thread, and nothing arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fanlight as fl
from benchmarks.contestants import Bundles, Contestant, Play, rows_of
from benchmarks.figures import Figures, Scale, table
from benchmarks.fingerprint import Columns, Fingerprint, FingerprintAudit
from benchmarks.measure import side_by_side
from benchmarks.meetings import REACH, Meetings
from benchmarks.stopwatch import Stopwatch

AT_ONCE, IN_TURN = "Fanlight, fl.join of three, eager", "Fanlight, two joins one after the other, eager"
LEFT, LEFT_IN_TURN = "Fanlight, fl.join of three, left on close", "Fanlight, two left joins, on close"
DUCKDB = "DuckDB, one shot"
NEAR = fl.interval("0 s", "5 s")
SQL = """
    SELECT o.key, o.ts, o.price, p.ts AS ts_p, p.price AS price_p, s.ts AS ts_s, s.price AS price_s
    FROM o JOIN p ON o.key = p.key AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 5 SECOND
           JOIN s ON o.key = s.key AND s.ts BETWEEN o.ts AND o.ts + INTERVAL 5 SECOND
"""
Streams = dict[str, fl.Stream]


def run(scale: Scale) -> Figures:
    meetings = Meetings(scale.rows // 2)
    sides = meetings.three_sides()
    expected = Fingerprint.of(defined_triples(sides))
    plays: dict[str, Play] = {
        AT_ONCE: _ours(sides, lambda streams: fl.join(**streams, match=NEAR)),
        IN_TURN: _ours(sides, lambda streams: _in_turn(streams, "inner").eager()),
        LEFT: _ours(sides, lambda streams: fl.join(**streams, match=NEAR, how="left")),
        LEFT_IN_TURN: _ours(sides, lambda streams: _in_turn(streams, "left")),
        DUCKDB: _duckdb(sides),
    }
    contestants = [
        Contestant(
            name,
            play,
            partial(FingerprintAudit, name, triples_of, expected),
            rows_of(meetings.bundles()),
            1 if name == DUCKDB else len(meetings.bundles()) + 1,
        )
        for name, play in plays.items()
    ]
    measured = side_by_side("n_way", contestants, scale.rounds)
    beside = {AT_ONCE: IN_TURN, LEFT: LEFT_IN_TURN}
    rows = [
        [
            name,
            f"{times.speed:.2f}",
            f"{times.rows_out:,}",
            f"{measured.ratio(name, beside[name]):.2f}" if name in beside else "",
        ]
        for name, times in measured.times.items()
    ]
    head = ["three streams within 5 s", "M rows/s", "rows out", "to two joins"]
    return Figures("n_way", scale, (table(head, rows),), measured.busy, ("duckdb",))


def _in_turn(streams: Streams, how: Any) -> fl.JoinResult:
    """The first two joined, and the third with what comes of them."""
    pairs = streams["o"].join(streams["p"], NEAR, how=how)
    return pairs.key_by("key").join(streams["s"], NEAR, how=how)


def _ours(sides: dict[str, Bundles], join: Callable[[Streams], Any]) -> Play:
    """Fanlight as a user has it: three sources, a bundle of each a step."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        streams = {
            name: fl.stream(iter(side), time="ts", delay="5 s", name=name).key_by("key") for name, side in sides.items()
        }
        steps = iter(join(streams))
        while True:
            with watch:
                rows = next(steps, None)
            if rows is None:
                return
            yield pa.table(rows)

    return play


def _duckdb(sides: dict[str, Bundles]) -> Play:
    import duckdb

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        with duckdb.connect(config={"threads": 1}) as database:
            for name, side in sides.items():
                database.register(name, pa.Table.from_batches(side))
            with watch:
                found = database.sql(SQL).to_arrow_table()
        yield found

    return play


def triples_of(rows: pa.Table) -> Columns:
    """The columns of combinations; a row without a match is none."""
    rows = rows.filter(pc.and_(rows.column("ts_p").is_valid(), rows.column("ts_s").is_valid()))
    times = (rows.column(name).cast(pa.int64()).to_numpy() for name in ("ts", "ts_p", "ts_s"))
    prices = (rows.column(name).to_numpy() for name in ("price", "price_p", "price_s"))
    return (rows.column("key").to_numpy(), *times, *prices)


def defined_triples(sides: dict[str, Bundles]) -> Columns:
    """All combinations, by searching each first row's five seconds among the rows of its key of the two others."""
    lead, *others = (_by_key(pa.Table.from_batches(side)) for side in sides.values())
    key, time, price = lead
    start = min(times.min() for _, times, _ in (lead, *others))
    line = key * (1 << 32) + (time - start)
    found = []
    for of, when, _ in others:
        places = of * (1 << 32) + (when - start)
        first, after = np.searchsorted(places, line), np.searchsorted(places, line + REACH, side="right")
        found.append((first, after - first))
    (first, each), (second, others_each) = found
    total = each * others_each
    leads = np.repeat(np.arange(len(line)), total)
    rank = np.arange(len(leads)) - np.repeat(np.cumsum(total) - total, total)
    one, other = np.divmod(rank, np.maximum(others_each, 1)[leads])
    columns = [key[leads], time[leads]]
    (_, paid, cents), (_, sent, cost) = others
    one, other = first[leads] + one, second[leads] + other
    return (*columns, paid[one], sent[other], price[leads], cents[one], cost[other])


def _by_key(side: pa.Table) -> tuple[Any, Any, Any]:
    """The keys, times and prices of rows, by key and time."""
    key, time = side.column("key").to_numpy(), side.column("ts").cast(pa.int64()).to_numpy()
    order = np.lexsort([time, key])
    return key[order], time[order], side.column("price").to_numpy()[order]
