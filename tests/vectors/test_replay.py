"""Every case of every file here, on the embedded engine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fanlight.testing.vectors import ENGINES, Status, Vector, Verdict, load, replay

HERE = Path(__file__).parent
WRITTEN = [vector for file in sorted(HERE.glob("*.yaml")) for vector in load(file)]
CASES = {vector.name: vector for vector in WRITTEN}
ASKED = ("window_agg", "assign", "assign_groups")
BUILT = ("fixed", "sliding", "global")


@cache
def verdict(name: str, engine: str) -> Verdict:
    return replay(CASES[name], engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CASES)
def test_no_case_comes_out_otherwise_than_its_peer_says(name: str, engine: str) -> None:
    assert verdict(name, engine).status is not Status.FAIL, verdict(name, engine).reason


def test_names_are_distinct() -> None:
    """Cases are told apart by their names, here and in what the command prints."""
    assert len(WRITTEN) == len(CASES)


def test_nearly_every_case_of_a_kind_of_window_that_is_built_is_adopted() -> None:
    """At most one in twenty: a reason is an exception, not a way out."""
    asked = [name for name, vector in CASES.items() if is_asked(vector)]
    refused = [name for name in asked if verdict(name, "embedded").status is Status.NOT_ADOPTED]
    assert len(asked) > 80
    assert len(refused) <= 0.05 * len(asked), refused


def is_asked(vector: Vector) -> bool:
    return vector.op in ASKED and vector.mapping("window").get("kind") in BUILT


def test_a_case_that_is_not_adopted_says_why() -> None:
    verdicts = [verdict(name, "embedded") for name in CASES]
    refused = [told for told in verdicts if told.status is Status.NOT_ADOPTED]
    assert refused
    assert all(told.reason for told in refused)
