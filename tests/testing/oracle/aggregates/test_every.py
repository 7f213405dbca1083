"""What each aggregate is, over a content small enough to work out by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from fanlight.model import aggregates as fl
from fanlight.model.aggregates import Aggregate, UserAggregate
from fanlight.testing.oracle.aggregates.every import compute
from fanlight.testing.script import same

NAN = math.nan


def over(*values: Any) -> list[tuple[int, Any]]:
    """Values that came in this order, each a microsecond after the one before."""
    return list(enumerate(values))


@pytest.mark.parametrize(
    ("aggregate", "content", "expected"),
    [
        (fl.count(), over(True, True), 2),
        (fl.count("v"), over(1, None, NAN), 2),
        (fl.sum("v"), over(2**62, 2**62, None), 2**63),
        (fl.sum("v"), over(Decimal("0.1"), Decimal(10) ** 30), Decimal("1000000000000000000000000000000.1")),
        (fl.sum("v"), over(0.1, 0.2, 0.3, -0.6), 2.7755575615628914e-17),  # exact, then rounded once
        (fl.sum("v"), over(math.inf, 1.0, -math.inf), NAN),
        (fl.sum("v"), over(1e308, 1e308), math.inf),
        (fl.min("v"), over(NAN, 2.0, None), 2.0),
        (fl.min("v"), over(NAN, NAN), NAN),
        (fl.max("v"), over(NAN, 2.0), NAN),
        (fl.max("v"), over("a", "b"), "b"),
        (fl.avg("v"), over(1, 2, None), 1.5),
        (fl.avg("v"), over(1.0, math.inf), math.inf),
        (fl.variance("v"), over(1, 3, 5), 4.0),
        (fl.variance("v", population=True), over(1, 3), 1.0),
        (fl.variance("v"), over(7), None),
        (fl.variance("v", population=True), over(7), 0.0),
        (fl.variance("v"), over(1.0, NAN), NAN),
        (fl.stddev("v"), over(1, 3, 5), 2.0),
        (fl.first("v"), [(5, 1), (2, 9), (2, 8), (0, None)], 8),
        (fl.last("v"), [(5, 1), (5, 3), (2, 9), (7, None)], 3),
        (fl.any("v"), over(False, None, True), True),
        (fl.all("v"), over(True, None, False), False),
        (fl.list("v"), [(5, 1), (2, 9), (2, 8), (0, None)], [8, 9, 1]),
        (fl.list("v", by_arrival=True), [(5, 1), (2, 9), (2, 8), (0, None)], [1, 9, 8]),
        (fl.median("v"), over(8, 1, 4, 2), 3.0),
        (fl.quantile("v", 0.25), over(1.0, 2.0, NAN), 1.5),
        (fl.quantile("v", 0.75), over(1.0, 2.0, NAN), NAN),
        (fl.quantile("v", 0.5), over(math.inf, math.inf), math.inf),
        (fl.count_distinct("v"), over(1, 1, None, 2), 2),
        (fl.count_distinct("v"), over(NAN, -NAN, 0.0, -0.0), 2),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Aggregate) else "",
)
def test_an_aggregate_over_a_content(aggregate: Aggregate, content: list[tuple[int, Any]], expected: Any) -> None:
    value = compute(aggregate, content)
    assert same(value, expected)
    assert type(value) is type(expected)


@pytest.mark.parametrize("content", [[], over(None, None)], ids=["nothing", "nulls"])
def test_over_no_value_a_count_is_zero_a_list_is_empty_and_the_rest_is_null(content: list[tuple[int, Any]]) -> None:
    assert (compute(fl.count("v"), content), compute(fl.count_distinct("v"), content)) == (0, 0)
    assert compute(fl.list("v"), content) == []
    others = [fl.sum, fl.min, fl.max, fl.avg, fl.variance, fl.stddev, fl.first, fl.last, fl.any, fl.all, fl.median]
    assert [make("v") for make in others if compute(make("v"), content) is not None] == []


@dataclass(frozen=True)
class Product(UserAggregate):
    state_type: ClassVar[Any] = "int64"
    output_type: ClassVar[Any] = "int64"

    def zero(self) -> int:
        return 1

    def add(self, state: int, value: int) -> int:
        return state * value

    def merge(self, left: int, right: int) -> int:
        return left * right

    def finish(self, state: int) -> int:
        return state


def test_an_aggregate_of_ones_own_folds_its_values_and_starts_from_zero() -> None:
    assert compute(Product("v"), over(2, None, 5)) == 10
    assert compute(Product("v"), []) == 1
