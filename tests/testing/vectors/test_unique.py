"""The op `dedup_within_watermark`, on cases written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fanlight.testing.vectors import ENGINES, Status, replay
from fanlight.testing.vectors.load import Vector

STEPS: list[dict[str, Any]] = [
    {"in": [{"k": "a", "ts": 17_000}]},
    {"in": [{"k": "a", "ts": 16_000}, {"k": "b", "ts": 22_000}]},
    {"watermark": 20_000, "checkpoint_restore": True},
    {"in": [{"k": "a", "ts": 17_500}, {"k": "a", "ts": 21_000}]},
    {"end": True},
]
"""Ids reach 2 s: 16 repeats 17. At 20, 17.5 is further behind than that, and 21 is out of the reach of 17."""
LEFT: list[dict[str, Any]] = [
    {"after": 0, "rows": [{"k": "a", "ts": 17_000}]},
    {"after": 1, "rows": [{"k": "b", "ts": 22_000}]},
    {"after": 3, "rows": [{"k": "a", "ts": 21_000}]},
    {"after": 4, "rows": []},
]


def case(steps: list[dict[str, Any]], expect: list[dict[str, Any]], **more: Any) -> Vector:
    said = {"watermark_policy": {"kind": "explicit"}, "bundles": "per_step", "lateness_ms": 2_000, **more}
    return Vector("by hand", "dedup_within_watermark", "here", "", {**said, "steps": steps, "expect": expect})


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_of_each_key_leaves(engine: str) -> None:
    told = replay(case(STEPS, LEFT), engine)
    assert told.status is Status.PASS, told.reason


def test_what_leaves_otherwise_is_told() -> None:
    told = replay(case(STEPS, [{"after": 1, "rows": []}]))
    assert told.status is Status.FAIL
    assert "after step 1: unexpected {k: 'b', ts: 22000}" in told.reason


def test_a_case_that_turns_on_records_behind_the_watermark_is_not_adopted() -> None:
    """19 is behind 20, and would leave here: Spark drops it."""
    late = [*STEPS[:3], {"in": [{"k": "c", "ts": 19_000}]}]
    told = replay(case(late, []))
    assert told.status is Status.NOT_ADOPTED
    assert told.reason.startswith("Spark drops every record behind the watermark")
