"""The runner itself can fail: whatever an expectation asserts, asserting something else does not pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanlight.errors import VectorError
from fanlight.testing.vectors import Status, Vector, load
from fanlight.testing.vectors import replay as replay_case
from fanlight.testing.vectors.adopt import NotAdoptedError, refuse
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.compare import Comparison, same
from fanlight.testing.vectors.declare import declare
from fanlight.testing.vectors.drive import ENGINES
from fanlight.testing.vectors.expect import differences
from fanlight.testing.vectors.join.declare import declared
from fanlight.testing.vectors.play import PlayedVector, play_vector

HERE = Path(__file__).parents[2] / "vectors"


def is_adopted(vector: Vector) -> bool:
    try:
        refuse(vector)
        if vector.op == "join":
            declared(vector)
    except NotAdoptedError:
        return False
    return True


ADOPTED = [v for file in sorted(HERE.glob("*.yaml")) for v in load(file) if is_adopted(v)]
AGGREGATIONS = [vector for vector in ADOPTED if vector.op == "window_agg"]
OTHERS = [vector for vector in ADOPTED if vector.op != "window_agg"]


def played(vector: Vector) -> PlayedVector:
    spec = declare(vector)
    columns = Columns.of(vector, spec)
    driver = ENGINES["embedded"](spec, columns.schema)
    states = range(len(vector.steps)) if vector.get("expect_mode") == "state" else ()
    return play_vector(vector, spec, columns, driver, states=states)


def other(value: Any) -> Any:
    """A value of the same shape that is not this one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case "inf":
            return 0
        case str():
            return {"early": "on_time", "on_time": "late", "late": "early"}.get(value, value + "?")
        case None:
            return 0
        case [start, end] if isinstance(end, int) and isinstance(start, int):
            return [start, end + 1]
        case list():
            return [*value, value[0] if value else 0]
    raise AssertionError(value)


def mutants(vector: Vector) -> Iterator[tuple[str, Vector]]:
    """The vector with one thing wrong in what it expects: a value, a row too few, a row too many, a count."""
    for field in ("expect", "late_output"):
        for place, group in enumerate(vector.get(field, [])):
            rows = group["rows"]
            for row, asserted in enumerate(rows):
                for name in asserted:
                    yield f"{field} {place} row {row} {name}", changed(vector, field, place, row, name)
                yield (
                    f"{field} {place} without row {row}",
                    with_group(vector, field, place, rows=rows[:row] + rows[row + 1 :]),
                )
            if rows:
                yield f"{field} {place} with a row twice", with_group(vector, field, place, rows=[*rows, rows[-1]])
    for place, group in enumerate(vector.get("dropped", [])):
        for count in {"count", "count_total"} & group.keys():
            yield f"dropped {place} {count}", with_group(vector, "dropped", place, **{count: group[count] + 1})


def changed(vector: Vector, field: str, place: int, row: int, name: str) -> Vector:
    rows = list(vector.get(field)[place]["rows"])
    rows[row] = {**rows[row], name: other(rows[row][name])}
    return with_group(vector, field, place, rows=rows)


def with_group(vector: Vector, field: str, place: int, **said: Any) -> Vector:
    groups = list(vector.get(field))
    groups[place] = {**groups[place], **said}
    return replace(vector, fields={**vector.fields, field: groups})


@pytest.mark.slow
@pytest.mark.parametrize("vector", AGGREGATIONS, ids=lambda vector: vector.name)
def test_every_attribute_and_every_row_of_an_aggregation_counts(vector: Vector) -> None:
    outcome = played(vector)
    assert not differences(vector, outcome)
    passed = [what for what, mutant in mutants(vector) if not differences(mutant, outcome)]
    assert not passed


@pytest.mark.slow
@pytest.mark.parametrize("vector", OTHERS, ids=lambda vector: vector.name)
def test_every_attribute_and_every_row_of_the_other_ops_counts(vector: Vector) -> None:
    assert replay_case(vector).status is Status.PASS
    assert all(replay_case(mutant).status is Status.FAIL for _, mutant in mutants(vector))


@pytest.mark.parametrize("vector", AGGREGATIONS, ids=lambda vector: vector.name)
def test_a_firing_in_a_step_that_expects_none_is_seen(vector: Vector) -> None:
    if vector.get("expect_mode") == "each_step":
        outcome = played(vector)
        for step in vector.get("expect"):
            fields = {**vector.fields, "expect": [other for other in vector.get("expect") if other is not step]}
            assert differences(replace(vector, fields=fields), outcome)


def rows(*values: int, window: tuple[int, int] = (0, 10)) -> list[dict[str, Any]]:
    return [{"v": value, "window": list(window), "retract": False} for value in values]


class TestOrder:
    def test_exact_is_the_order_of_the_rows(self) -> None:
        assert not Comparison("exact").differences([{"v": 1}, {"v": 2}], rows(1, 2))
        assert Comparison("exact").differences([{"v": 2}, {"v": 1}], rows(1, 2))

    def test_any_is_no_order_but_as_many_of_each(self) -> None:
        assert not Comparison("any").differences([{"v": 2}, {"v": 1}, {"v": 1}], rows(1, 2, 1))
        assert Comparison("any").differences([{"v": 2}, {"v": 2}, {"v": 1}], rows(1, 2, 1))

    def test_per_window_is_an_order_for_each_window_only(self) -> None:
        actual = rows(1, 2) + rows(3, 4, window=(10, 20))
        comparison = Comparison("per_window")
        assert not comparison.differences([{"v": 3}, {"v": 1}, {"v": 4}, {"v": 2}], actual)
        assert comparison.differences([{"v": 3}, {"v": 2}, {"v": 4}, {"v": 1}], actual)

    def test_a_row_that_asserts_little_makes_way_for_one_that_asserts_more(self) -> None:
        assert not Comparison("any").differences([{"window": [0, 10]}, {"v": 1}], rows(1, 2))

    def test_an_order_that_is_not_known_is_refused(self) -> None:
        with pytest.raises(VectorError, match="row_order"):
            Comparison("sorted")


class TestRows:
    def test_a_retraction_is_only_what_says_so(self) -> None:
        taken_back = [{"v": 1, "retract": True}]
        assert Comparison("exact").differences([{"v": 1}], taken_back)
        assert not Comparison("exact").differences([{"v": 1, "retract": True}], taken_back)

    def test_of_no_messages_null_is_the_peers_zero(self) -> None:
        assert not Comparison("exact").differences([{"v": 0}], [{"v": None, "n": 0}])
        assert not Comparison("exact").differences([{"v": []}], [{"v": None, "n": 0}])
        assert Comparison("exact").differences([{"v": 0}], [{"v": None, "n": 1}])

    def test_the_global_window_is_told_by_its_end(self) -> None:
        whole = [{"window": ["-inf", "inf"]}]
        assert not Comparison("exact").differences([{"window": ["-inf", "inf"]}], whole)
        assert Comparison("exact").differences([{"window": [0, 10]}], whole)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(1, True), (1, "1"), (0, None), (None, 0), (1, 2), ("a", "b"), ([1], [1, 1]), ([1, 1], [1, 2]), (1.1, 1.10001)],
)
def test_values_that_are_not_the_same(expected: Any, actual: Any) -> None:
    assert not same(expected, actual)
    assert not same(expected, actual, unordered=True)
