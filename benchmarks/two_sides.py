"""Two sides through a join, as benchmarks play them: by Fanlight, bundle by bundle, and by DuckDB in one shot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import fanlight as fl
from benchmarks.contestants import Bundles, Play
from benchmarks.fingerprint import Columns
from benchmarks.meetings import Meetings
from benchmarks.stopwatch import Stopwatch


def joined_by_fanlight(left: Bundles, right: Bundles, join: Callable[[fl.Stream, fl.Stream], Any]) -> Play:
    """Fanlight as a user has it: two sources, a bundle of each a step."""

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        sides = (
            fl.stream(iter(side), time="ts", delay="5 s", name=name).key_by("key")
            for side, name in ((left, "o"), (right, "p"))
        )
        steps = iter(join(*sides))
        while True:
            with watch:
                rows = next(steps, None)
            if rows is None:
                return
            yield pa.table(rows)

    return play


def joined_by_duckdb(meetings: Meetings, sql: str) -> Play:
    """DuckDB on one thread: both sides, `lefts` and `rights`, are in memory, and nothing arrives."""
    import duckdb

    def play(watch: Stopwatch) -> Iterator[pa.Table]:
        lefts, rights = map(pa.Table.from_batches, meetings.sides())
        with duckdb.connect(config={"threads": 1}) as database:
            database.register("lefts", lefts)
            database.register("rights", rights)
            with watch:
                found = database.sql(sql).to_arrow_table()
        yield found

    return play


def pairs_of(rows: pa.Table) -> Columns:
    """The columns of pairs; a row without a match is none."""
    rows = rows.filter(rows.column("ts_p").is_valid())
    times = (rows.column(name).cast(pa.int64()).to_numpy() for name in ("ts", "ts_p"))
    return (rows.column("key").to_numpy(), *times, *(rows.column(name).to_numpy() for name in ("price", "price_p")))
