"""Where the rows of a join that is spread go: to the shards of their spans, as copies to all but the first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.join.sides import COPY, INPUT, TIME
from fanlight.model.join.spread import SpreadJoinSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, LATEST
from fanlight.operators.fingerprint import changes, fingerprint
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.prepare import Gate, common_schema
from fanlight.spark.shards import key_codes, places_in_time
from fanlight.spark.spreading import Spreading, with_copies

SHARDS = 1_000
"""So many that two spans of a key are hardly ever in one."""
COLUMNS = pa.schema({"ts": pa.int64(), "id": pa.int64()})


def spec_of(how: Any = "left", keys: tuple[str, ...] = ("id",)) -> SpreadJoinSpec:
    """Right rows from 10 s before to 20 s after, in spans of a minute."""
    sides = [fl.stream([{"ts": 0, "id": 0}], time="ts", unit="s", name=name) for name in "op"]
    o, p = (side.key_by(*keys) if keys else side for side in sides)
    spec = o.join(p, fl.interval("-10 s", "20 s"), how=how, spread="1 min").spec
    assert isinstance(spec, SpreadJoinSpec)
    return spec


def sent(spec: SpreadJoinSpec, side: str, seconds: list[int | None], ids: list[int | None]) -> list[tuple[Any, ...]]:
    """What is sent of records of a side: time in seconds, id, shard, whether it is a copy."""
    gates = {name: Gate(intake, TimeReader.of(spec)) for name, intake in sided_intakes(spec).items()}
    schema = with_copies(spec, common_schema({name: gate.schema_of(COLUMNS) for name, gate in gates.items()}))
    spreading = Spreading.of(spec, schema, SHARDS)
    assert spreading is not None
    came = gates[side].take(pa.record_batch([seconds, ids], schema=COLUMNS), 0).batch
    rows, shards = spreading.placed(came)
    assert rows.schema == schema
    assert set(rows.column(INPUT).to_pylist()) <= {side}
    told = [None if time is None else time // 1_000_000 for time in rows.column(TIME).to_pylist()]
    own = [one["id"] for one in rows.column(side).to_pylist()]
    return list(zip(told, own, shards.tolist(), rows.column(COPY).to_pylist(), strict=True))


def test_left_rows_go_to_one_shard_and_right_ones_to_those_of_their_left_ones() -> None:
    """A right row at t has left rows from t - 20 s to t + 10 s."""
    (_, _, before, _), (_, _, first, _), (_, _, second, _) = sent(spec_of(), "o", [-1, 0, 60], [7, 7, 7])
    assert len({before, first, second}) == 3
    assert sent(spec_of(), "p", [-11, -10, 19, 20, 49, 50], [7] * 6) == [
        (-11, 7, before, False),
        (-10, 7, before, False),
        (-10, 7, first, True),
        (19, 7, before, False),
        (19, 7, first, True),
        (20, 7, first, False),
        (49, 7, first, False),
        (50, 7, first, False),
        (50, 7, second, True),
    ]


def test_in_a_right_join_the_left_rows_are_copied() -> None:
    spec = spec_of("right")
    (_, _, first, _), (_, _, second, _) = sent(spec, "p", [59, 60], [7, 7])
    found = sent(spec, "o", [39, 40, 69, 70], [7] * 4)
    assert [row[2:] for row in found] == [
        (first, False),
        (first, False),
        (second, True),
        (first, False),
        (second, True),
        (second, False),
    ]


def test_without_keys_spans_alone_count() -> None:
    spec = spec_of(keys=())
    found = sent(spec, "o", [0, 59, 60], [7, 8, 7])
    assert found[0][2] == found[1][2] != found[2][2]


def test_what_matches_nothing_has_no_copy() -> None:
    assert [row[3] for row in sent(spec_of(), "p", [50, 50], [None, 7])] == [False, False, True]


@pytest.mark.parametrize("second", [None, EARLIEST // 1_000_000, LATEST // 1_000_000, 2**62])
def test_a_time_that_cannot_be_used_has_a_shard_too(second: int | None) -> None:
    found = sent(spec_of(), "p", [second, second], [7, 7])
    assert [row[3] for row in found].count(False) == 2
    assert len({row[2] for row in found if not row[3]}) == 1


def test_another_spread_is_another_pipeline_and_nothing_else_is_told() -> None:
    spread = spec_of()
    alone = replace(spread, spread=None)
    wide = replace(spread, spread=Duration.of("2 min"))
    prints = [fingerprint(spec, with_copies(spec, COLUMNS), [0, 1]) for spec in (alone, spread, wide)]
    assert [one.told for one in changes(prints[0], prints[1])] == ["spread: none before, 1 min now"]
    assert [one.told for one in changes(prints[1], prints[2])] == ["spread: 1 min before, 2 min now"]


@pytest.mark.parametrize("shards", [2, 3, 8, 200])
def test_the_spans_of_one_key_take_turns(shards: int) -> None:
    spans = np.arange(-50 * shards, 50 * shards)
    for key in (pa.array([7] * len(spans)), pa.array(["hot"] * len(spans))):
        counts = np.bincount(places_in_time(key_codes([key], len(spans)), spans, shards), minlength=shards)
        assert counts.min() >= 90
        assert counts.max() <= 110


@pytest.mark.parametrize("step", [1, 2, 1_000, 2**32, -1])
def test_the_keys_of_one_span_are_spread_evenly(step: int) -> None:
    keys = pa.array(np.arange(10_000) * step)
    counts = np.bincount(places_in_time(key_codes([keys], 10_000), np.full(10_000, 29_000_000), 8), minlength=8)
    assert counts.max() < 2 * 10_000 / 8
