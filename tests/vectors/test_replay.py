"""Every case of every file here, on every engine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fanlight.testing.vectors import ENGINES, Status, Verdict, load, replay

HERE = Path(__file__).parent
WRITTEN = [vector for file in sorted(HERE.glob("*.yaml")) for vector in load(file)]
CASES = {vector.name: vector for vector in WRITTEN}
ASKED = ("window_agg", "window_agg_chain", "assign", "assign_groups", "accumulation", "sort")


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


@pytest.mark.parametrize("engine", ENGINES)
def test_nearly_every_case_about_windows_is_adopted(engine: str) -> None:
    """At most one in twenty: a reason is an exception, not a way out."""
    asked = [name for name, vector in CASES.items() if vector.op in ASKED]
    refused = [name for name in asked if verdict(name, engine).status is Status.NOT_ADOPTED]
    assert len(asked) > 150
    assert len(refused) <= 0.05 * len(asked), refused


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_about_sort_passes(engine: str) -> None:
    verdicts = {name: verdict(name, engine).status for name, vector in CASES.items() if vector.op == "sort"}
    assert len(verdicts) == 3
    assert set(verdicts.values()) == {Status.PASS}, verdicts


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_about_over_passes(engine: str) -> None:
    verdicts = {name: verdict(name, engine).status for name, vector in CASES.items() if vector.op == "over"}
    assert set(verdicts.values()) == {Status.PASS}
    assert len(verdicts) == 18


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_about_the_first_rows_of_windows_and_about_gaps_passes(engine: str) -> None:
    asked = [name for name, vector in CASES.items() if vector.op in ("window_topn", "gap_fill")]
    assert len(asked) == 3
    assert {verdict(name, engine).status for name in asked} == {Status.PASS}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_about_rows_that_match_passes(engine: str) -> None:
    """The others are padded by a condition of one side, and say so."""
    verdicts = {name: verdict(name, engine) for name, vector in CASES.items() if vector.op == "join"}
    passed = [name for name, told in verdicts.items() if told.status is Status.PASS]
    assert len(verdicts) == 62
    assert len(passed) == 60
    assert not [told for told in verdicts.values() if "not built" in told.reason]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_case_about_merging_two_streams_passes(engine: str) -> None:
    verdicts = [verdict(name, engine) for name, vector in CASES.items() if vector.op == "cogroup"]
    assert [told.status for told in verdicts] == [Status.PASS], verdicts


def test_a_case_that_is_not_adopted_says_why() -> None:
    verdicts = [verdict(name, "embedded") for name in CASES]
    refused = [told for told in verdicts if told.status is Status.NOT_ADOPTED]
    assert refused
    assert all(told.reason for told in refused)
