"""Sessions that fire once: what is kept of them, which of it a step touches, and what stays readable."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from tests.operators.driven import Driven
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.session import Session
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.single_firing import SessionsOnce

SECOND = 1_000_000
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})


class Shard:
    """A shard with sessions that ten seconds of silence end."""

    def __init__(self, **fields: object) -> None:
        aggregates = (("n", fl.count()), ("total", fl.sum("v")))
        spec = WindowSpec("ts", Session(Duration(10 * SECOND)), aggregates, ("k",), **fields)  # type: ignore[arg-type]
        self.store = WatchedStore("panes")
        self.operator = Driven(Plan.bind(spec, SCHEMA), self.store)

    def step(self, records: list[tuple[int, str]], watermark: int) -> list[tuple[str, int, int, int]]:
        """Take (second, key) records in, then a watermark; key, start, end and count of what leaves."""
        times = np.array([second for second, _ in records], np.int64) * SECOND
        columns = [pa.array(times), pa.array([key for _, key in records], pa.string()), pa.array(times // SECOND)]
        batch = pa.record_batch(columns, schema=SCHEMA)
        self.store.forget()
        leaving = self.operator.step(
            Bundle(batch, times, np.array([self.operator.watermark])) if records else None, watermark * SECOND
        )
        rows = pa.Table.from_batches(leaving, schema=self.operator.plan.result)
        bounds = [
            pa.compute.struct_field(rows["window"], side).cast(pa.int64()).to_pylist() for side in ("start", "end")
        ]
        named = zip(rows["k"].to_pylist(), *bounds, rows["n"].to_pylist(), strict=True)
        return [(key, start // SECOND, end // SECOND, n) for key, start, end, n in named]

    @property
    def live(self) -> list[tuple[int, int]]:
        """End and count of each live session."""
        (_, closed), (_, opened) = self.operator.content()
        return [
            (end // SECOND, rows)
            for held in (closed, opened)
            for end, rows in zip(held.windows.tolist(), held.rows.tolist(), strict=True)
        ]


def test_only_bounds_keys_and_partials_are_kept() -> None:
    shard = Shard()
    shard.step([(1, "a"), (4, "a")], 0)
    assert isinstance(shard.operator.panes, SessionsOnce)
    (chunk,) = (shard.store.get(address) for address in shard.store.list("panes"))
    assert chunk.to_pylist() == [
        {"start": SECOND, "end": 14 * SECOND, "k": "a", "rows": 2, "0.n": 2, "1.sum": 5, "1.high": 0, "1.n": 2}
    ]


def test_buckets_that_nothing_happens_in_are_neither_read_nor_written() -> None:
    """Buckets are as wide as the gap. The session of a ends in 1 (at 15), that of b in 4 (at 45), that of c in 9."""
    shard = Shard()
    shard.step([(5, "a"), (35, "b"), (80, "c")], 0)
    assert sorted(shard.store.written) == [1, 4, 9]
    shard.step([(85, "d")], 0)
    assert (shard.store.read, shard.store.written) == ([9], [9])
    assert shard.step([], 20) == [("a", 5, 15, 1)]
    assert (shard.store.read, shard.store.written) == ([1], [])
    shard.step([(39, "b")], 20)
    assert sorted(shard.store.read) == [4, 9]
    assert shard.store.written == [4]
    assert shard.live == [(49, 2), (90, 1), (95, 1)]


def test_a_session_moves_to_the_bucket_it_ends_in_and_leaves_the_other() -> None:
    shard = Shard()
    shard.step([(5, "a")], 0)
    shard.step([(14, "a")], 0)
    assert [address.part for address in shard.store.list("panes")] == [2]
    assert shard.step([], 24) == [("a", 5, 24, 2)]
    assert shard.store.list("panes") == []


def test_sessions_that_begin_and_end_in_one_step_are_never_kept() -> None:
    shard = Shard()
    assert shard.step([(5, "a"), (30, "b")], 20) == [("a", 5, 15, 1)]
    assert shard.store.written == [4]


def test_expired_sessions_stay_readable_as_long_as_retention_says() -> None:
    shard = Shard(retention=fl.retention("20 s"))
    shard.step([(5, "a"), (8, "a"), (6, "b"), (30, "c")], 20)
    (phase, held), *_ = shard.operator.content()
    assert phase == "expired"
    assert (held.windows // SECOND).tolist() == [16, 18]
    assert held.rows.tolist() == [1, 2]
    assert [column.to_pylist() for column in held.values] == [[1, 2], [6, 13]]
    shard.step([], 37)
    assert (shard.operator.content()[0][1].windows // SECOND).tolist() == [18]
    assert shard.step([], 40) == [("c", 30, 40, 1)]
