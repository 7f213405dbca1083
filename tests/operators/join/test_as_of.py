"""What an as-of join keeps: the last right row of each key, and no row longer than it may match; keys of one hash."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.properties.join_runs import SPACES, JoinRun

from fanlight.kernels.grouping.groups import Ints
from fanlight.model.document_words import WORD_OF
from fanlight.model.join.as_of import AsOf, AsOfJoinSpec, as_of
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.retention import retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.operators.bind import bind
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.join.as_of.operator import AsOfJoin
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.operator import BoundSpec
from fanlight.testing.oracle.join.as_of import AsOfJoinOracle
from fanlight.testing.oracle.join.sides import JoinStep
from fanlight.testing.strategies.joins import LEFT_COLUMNS, RIGHT_COLUMNS

MANY, KEYS = 200, 7
FOLLOWED = BoundedDisorder(Duration(5))


def spec_of(match: AsOf, kind: Any = AsOfJoinSpec) -> Any:
    sides = (Side(name, "ts", TimeUnit.MICROSECONDS, ("k", "s")) for name in ("o", "p"))
    told = Several((("p", FOLLOWED), ("o", FOLLOWED)))
    return kind(*sides, match, JoinType.LEFT, watermark=told)


def step(time: int) -> JoinStep:
    """A trade, and three quotes of another key; every tenth step a quote of a key that never comes again."""
    quotes = [{"ts": time, "k": (time + more) % KEYS, "s": "a", "g": None, "w": time + more} for more in range(3)]
    if time % 10 == 0:
        quotes.append({"ts": time, "k": -time, "s": "b", "g": None, "w": 0})
    return JoinStep(({"ts": time, "k": time % KEYS, "s": "a", "f": None, "v": time},), tuple(quotes))


@pytest.mark.parametrize(
    ("match", "most"),
    [
        (as_of("100 us"), 2 * (KEYS + 100 // 10) + 5 * 4 * 4),
        (as_of("100 us", "forward"), (100 + 5) * 4 * 4),
        (as_of("100 us", "nearest"), 2 * (KEYS + 100 // 10) + (100 + 5) * 4 * 4),
        (as_of().within(retention()), 2 * (KEYS + MANY // 10) + 5 * 4 * 4),
    ],
    ids=["backward", "forward", "nearest", "for ever"],
)
def test_what_is_kept_grows_with_the_keys_and_not_with_the_rows(match: AsOf, most: int) -> None:
    """Twice the last row of each key that may still match, and a few times what waits; after the end nothing."""
    run, held, chunks = JoinRun(spec_of(match)), 0, 0
    for time in range(MANY):
        run.step(step(time))
        held = max(held, run.held)
        chunks = max(chunks, sum(len(run.store.list(space)) for space in SPACES))
    assert held <= most
    assert chunks < 40
    run.step(JoinStep(end=True))
    assert run.held == 0


@dataclass(frozen=True, slots=True)
class OneHashSpec(AsOfJoinSpec):
    """An as-of join of keys that all have one hash."""


class OneHashPlan(JoinPlan):
    """Codes that tell no keys apart."""

    def codes(self, keys: list[pa.Array], rows: int) -> Ints:
        del keys
        return np.zeros(rows, np.int64)


@bind.register
def _of_one_hash(spec: OneHashSpec, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:
    del lean
    plan = JoinPlan.bind(spec, schema)
    same = OneHashPlan(spec, schema, plan.left, plan.right, plan.result, plan.is_exact)
    return BoundSpec(schema, plan.result, partial(AsOfJoin, same), times=TimeReader.of(spec))


@pytest.mark.parametrize("match", [as_of("9 us"), as_of("9 us", "nearest"), as_of().within(retention())], ids=str)
def test_keys_of_one_hash_are_still_told_apart(match: AsOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORD_OF, OneHashSpec, "AsOfJoinSpec")
    spec = spec_of(match, OneHashSpec)
    run, oracle = JoinRun(spec), AsOfJoinOracle(spec, LEFT_COLUMNS.names, RIGHT_COLUMNS.names)
    for time in range(60):
        assert run.step(step(time)) == oracle.step(step(time))
    assert run.step(JoinStep(end=True)) == oracle.step(JoinStep(end=True))
