"""Every case of every file here, on the embedded engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanlight.testing.vectors import ENGINES, Status, Vector, load, replay

HERE = Path(__file__).parent
CASES = [vector for file in sorted(HERE.glob("*.yaml")) for vector in load(file)]
ASKED = ("window_agg", "assign", "assign_groups")
BUILT = ("fixed", "sliding", "global")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("vector", CASES, ids=lambda vector: vector.name)
def test_no_case_comes_out_otherwise_than_its_peer_says(vector: Vector, engine: str) -> None:
    verdict = replay(vector, engine)
    assert verdict.status is not Status.FAIL, verdict.reason


def test_names_are_distinct() -> None:
    names = [vector.name for vector in CASES]
    assert len(set(names)) == len(names)


def test_nearly_every_case_of_a_kind_of_window_that_is_built_is_adopted() -> None:
    """At most one in twenty: a reason is an exception, not a way out."""
    asked = [v for v in CASES if v.op in ASKED and v.mapping("window").get("kind") in BUILT]
    refused = [v.name for v in asked if replay(v).status is Status.NOT_ADOPTED]
    assert len(asked) > 80
    assert len(refused) <= 0.05 * len(asked), refused


def test_a_case_that_is_not_adopted_says_why() -> None:
    refused = [verdict for verdict in map(replay, CASES) if verdict.status is Status.NOT_ADOPTED]
    assert refused
    assert all(verdict.reason for verdict in refused)
