"""What a join by frames keeps: no more than its windows hold, whoever reads them how; keys of one hash; long runs."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.properties.join_runs import SPACES, JoinRun

import fanlight as fl
from fanlight.kernels.grouping.groups import Ints
from fanlight.model.document_words import WORD_OF
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Frames
from fanlight.model.join.sides import Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.operators.bind import bind
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.join.frames.operator import FramesJoin
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.operator import BoundSpec
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address
from fanlight.testing.oracle.join.frames import FramesJoinOracle
from fanlight.testing.oracle.join.sides import JoinStep
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS

MANY, KEYS = 200, 7
FOLLOWED = BoundedDisorder(Duration(5))
SHORT = fl.retention("100 us")


def spec_of(
    match: Frames, kept: fl.Retention | None = None, keys: tuple[str, ...] = ("k", "s"), kind: Any = None
) -> Any:
    sides = (Side(name, "ts", TimeUnit.MICROSECONDS, keys) for name in ("o", "p"))
    told = Several((("p", FOLLOWED), ("o", FOLLOWED)))
    return (kind or FramesJoinSpec)(*sides, match, kept, watermark=told)


def step(time: int) -> JoinStep:
    """An order, and three payments of other keys, one of them a little late; some keys never come again."""
    paid = [{"ts": time - more, "k": (time + more) % KEYS, "s": "a", "g": None, "w": time + more} for more in range(3)]
    if time % 10 == 0:
        paid.append({"ts": time, "k": -time, "s": "b", "g": None, "w": 0})
    return JoinStep(({"ts": time, "k": time % KEYS, "s": "a", "f": None, "v": time},), tuple(paid))


FRAMES = [
    (fl.frames(o=fl.rows(2), p=fl.rows(3)), SHORT),
    (fl.frames(o=fl.rows(2), p=fl.range("30 us"), per="stream"), None),
    (fl.frames(o=fl.range("40 us"), p=fl.range("10 us")), None),
    (fl.frames(o=fl.unbounded(), p=fl.unbounded(), within=fl.interval("-9 us", "9 us")), SHORT),
    (fl.frames(o=fl.unbounded(), p=fl.rows(3), per="stream"), SHORT),
]


@pytest.mark.slow
@pytest.mark.parametrize("read", ["slice", "key"])
@pytest.mark.parametrize(("match", "kept"), FRAMES, ids=str)
def test_long_runs_are_as_the_oracle_says_and_keep_what_windows_hold(match: Frames, kept: Any, read: Any) -> None:
    """Chunks are merged, buckets written anew, old rows deleted: nothing of it shows."""
    frames = fl.frames(dict(match.sides), per=match.per, within=match.within, read=read)
    spec, held, chunks = spec_of(frames, kept), 0, 0
    run, oracle = JoinRun(spec), FramesJoinOracle(spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names)
    for time in range(MANY):
        assert run.step(step(time)) == oracle.step(step(time))
        held = max(held, run.held)
        chunks = max(chunks, sum(len(run.store.list(space)) for space in SPACES))
        if time % 40 == 0:
            run = run.restore()
    assert held < 900  # unbounded: (1 + 3.1) a microsecond, for 105 of them and half as many again
    assert chunks < 300
    assert run.step(JoinStep(end=True)) == oracle.step(JoinStep(end=True))
    assert run.held == 0


@dataclass(frozen=True, slots=True)
class OneHashFramesSpec(FramesJoinSpec):
    """A join by frames of keys that all have one hash."""


class OneHashFramesPlan(JoinPlan):
    """Codes that tell no keys apart."""

    def codes(self, keys: list[pa.Array], rows: int) -> Ints:
        del keys
        return np.zeros(rows, np.int64)


@bind.register
def _of_one_hash(spec: OneHashFramesSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:
    del lean
    plan = JoinPlan.bind(spec, schema)
    same = OneHashFramesPlan(spec, schema, plan.left, plan.right, plan.result, plan.is_exact)
    return BoundSpec(schema, plan.result, partial(FramesJoin, same), times=TimeReader.of(spec))


@pytest.mark.parametrize("read", ["slice", "key"])
@pytest.mark.parametrize(("match", "kept"), FRAMES[:3], ids=str)
def test_keys_of_one_hash_are_still_told_apart(
    match: Frames, kept: Any, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WORD_OF, OneHashFramesSpec, "FramesJoinSpec")
    frames = fl.frames(dict(match.sides), per=match.per, read=read)
    spec = spec_of(frames, kept, kind=OneHashFramesSpec)
    run, oracle = JoinRun(spec), FramesJoinOracle(spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names)
    for time in range(60):
        assert run.step(step(time)) == oracle.step(step(time))
    assert run.step(JoinStep(end=True)) == oracle.step(JoinStep(end=True))


class WatchedStore(MemoryStore):
    """It notes which parts of the right side are read."""

    read: Set[int] = frozenset()

    def get(self, address: Address) -> pa.RecordBatch:
        if address.space == "right":
            self.read = {*self.read, address.part}
        return super().get(address)


@pytest.mark.parametrize(("match", "kept"), FRAMES, ids=str)
def test_by_key_only_the_buckets_of_the_keys_that_came_are_read(match: Frames, kept: Any) -> None:
    """One order of one key reads one bucket of payments of many; by slice it reads all chunks that may matter."""
    reads = {}
    for read in ("slice", "key"):
        frames = fl.frames(dict(match.sides), per=match.per, within=match.within, read=read)  # type: ignore[arg-type]
        spec = spec_of(frames, kept, ("k",))
        store = WatchedStore.restore(JoinRun(spec).operator.snapshot())
        run = JoinRun(spec, store)
        for time in range(15):  # so few that no bucket is crowded
            run.step(step(time))
        parts = {address.part for address in store.list("right")}
        store.read = set()
        run.step(replace(step(15), right=()))
        reads[read] = store.read, parts
    assert len(reads["key"][0]) <= 1 < len(reads["key"][1])
    assert reads["slice"][0] == reads["slice"][1]
