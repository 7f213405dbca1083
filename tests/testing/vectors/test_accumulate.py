"""Accumulations in the words of the format, with merges, on every engine."""

from __future__ import annotations

from typing import Any

import pytest

from fanlight.testing.vectors import ENGINES, Status, Vector, Verdict, replay


def accumulated(agg: Any, steps: list[dict[str, Any]], out: Any, engine: str) -> Verdict:
    fields = {"agg": agg, "steps": steps, "expect": [{"after": len(steps) - 1, "rows": [{"out": out}]}]}
    return replay(Vector("a case", "accumulation", "apache/apex-malhar", "", fields), engine)


def adds(*values: Any) -> list[dict[str, Any]]:
    return [{"add": value} for value in values]


PAIRS = [["b", 2], ["a", 1], ["b", 5], ["c", 3]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("agg", "steps", "out"),
    [
        ("sum", [*adds(1, 2), {"merge": [3, 4]}], 10),
        ("sum", [*adds(1, 2), {"merge": [3]}, {"merge": 4}], 10),
        ("avg", [*adds(1, 2), {"merge": [6]}], 3),
        ("count", [*adds("a", "b"), {"merge": ["c"]}], 3),
        (["max", "min", "sum"], [*adds(5), {"merge": [7, 1]}], [7, 1, 13]),
        ("max(reverse order)", [*adds(5, 3), {"merge": [4]}], 3),
        ("min(reverse order)", [*adds(5, 3), {"merge": [6]}], 6),
        ('fold("; ")', [*adds("b", "a"), {"merge": ["c"]}], "b; a; c"),
        ("reduce('-')", [*adds("b", "a"), {"merge": ["c"]}], "b-a-c"),
        ("sort asc", [*adds(3, 1), {"merge": [2]}], [1, 2, 3]),
        ("sort desc by (name,n)", adds(*PAIRS), [["c", 3], ["b", 5], ["b", 2], ["a", 1]]),
        ("top 2", [*adds(3, 1), {"merge": [2]}], [3, 2]),
        ("top 2 by value", adds(*PAIRS), [["b", 5], ["c", 3]]),
        ("top 2 by value, one value per key (last wins)", [*adds(*PAIRS), {"merge": [["b", 1]]}], [["c", 3], ["a", 1]]),
        ("remove duplicates", [*adds(2, 1, 2), {"merge": [1, 3]}], [2, 1, 3]),
        ("group", [*adds(2, 1), {"merge": [2]}], [2, 1, 2]),
    ],
)
def test_what_inputs_come_to(agg: Any, steps: list[dict[str, Any]], out: Any, engine: str) -> None:
    verdict = accumulated(agg, steps, out, engine)
    assert verdict.status is Status.PASS, verdict.reason
    wrong = [*out, out[0]] if isinstance(out, list) else out * 2
    assert accumulated(agg, steps, wrong, engine).status is Status.FAIL


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cross_product_of_two_sides(engine: str) -> None:
    sides = [{"add": 1, "side": "L"}, {"add": 2, "side": "R"}, {"add": 1, "side": "L"}, {"merge": [3], "side": "R"}]
    verdict = accumulated("cross product of both sides (sets)", sides, [[1, 3], [1, 2]], engine)
    assert verdict.status is Status.PASS, verdict.reason


def test_what_is_not_adopted_says_so() -> None:
    verdict = accumulated("harmonic mean", adds(1), 1, "embedded")
    assert (verdict.status, verdict.reason) == (Status.NOT_ADOPTED, "aggregate harmonic mean: not built yet")


def test_a_step_must_add_or_merge() -> None:
    verdict = accumulated("sum", [{"tick": True}], 1, "embedded")
    assert verdict.status is Status.FAIL
    assert "neither adds an input nor merges an accumulator" in verdict.reason
