"""The oracle's accumulations against numbers worked out by hand."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from fanlight.model import aggregates as fl
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.script import same


def over(*values: Any) -> list[tuple[int, Any]]:
    return list(enumerate(values))


@pytest.mark.parametrize(
    ("aggregate", "content", "wanted"),
    [
        (fl.sorted("v"), over(3, None, 1, 2), [1, 2, 3]),
        (fl.sorted("v", descending=True), over(1.0, math.nan, 2.0), [math.nan, 2.0, 1.0]),
        (fl.sorted("v"), over({"a": 1, "b": None}, {"a": 1, "b": "x"}), [{"a": 1, "b": "x"}, {"a": 1, "b": None}]),
        (fl.distinct("v"), over(2, 1, 2, None), [1, 2]),
        (fl.distinct("v"), over(math.nan, math.nan), [math.nan]),
        (fl.mode("v"), over("b", "a", "b", "a"), "a"),
        (fl.mode("v"), [], None),
        (fl.histogram("v", [0, 10]), over(-1, 0, 9, 10, 11, None), [1, 2, 2]),
        (fl.histogram("v", [0.1]), over(Decimal("0.1"), Decimal("0.05")), [1, 1]),
        (fl.histogram("v", [0]), over(math.nan), [0, 1]),
        (fl.join_text("v", "-"), [(1, "c"), (0, "b"), (0, "a")], "a-b-c"),
        (fl.join_text("v"), over(None), None),
        (fl.fold("v", "", lambda state, value: state + value, pa.string()), [(1, "c"), (0, "b"), (0, "a")], "bac"),
        (fl.fold("v", 5, lambda state, value: state + value, pa.int64()), [], 5),
        (fl.reduce("v", lambda one, other: one - other), [(1, 1), (0, 10), (0, 4)], 5),
        (fl.reduce("v", max), over(None), None),
        (fl.approx_count_distinct("v"), over(1, 1, 2, None), 2),
        (fl.approx_quantile("v", 0.5), over(1, 2, 3, 4), 3.0),
        (fl.approx_quantile("v", 1), over(1, 2), 2.0),
        (fl.heavy_hitters("v", 1), over("b", "a", "b"), [{"value": "b", "count": 2}]),
        (fl.weighted_avg("v", "w"), over((1, 1), (4, 3), (None, 9), (9, None)), 3.25),
        (fl.weighted_avg("v", "w"), over((1, 0)), None),
        (fl.weighted_avg("v", "w"), over((math.inf, 1.0), (1.0, 1.0)), math.inf),
        (fl.arg_min("v", by="w"), over(("b", 1), ("a", 1), ("z", 0), (None, -1)), "z"),
        (fl.arg_max("v", by="w"), over(("b", 1), ("a", 1)), "b"),
        (fl.arg_max("v", by="w"), [], None),
        (
            fl.top_by_key("k", "v", 2),
            over(("a", 9), ("c", 5), ("b", 5), ("a", 1)),
            [{"k": "b", "v": 5}, {"k": "c", "v": 5}],
        ),
        (fl.top_by_key("k", "v", 1), [(0, ("a", 1)), (0, ("a", 7)), (0, ("a", 3))], [{"k": "a", "v": 7}]),
        (fl.composite(n=fl.count(), s=fl.sum("v")), over(1, None), {"n": 2, "s": 1}),
        (fl.composite(a=fl.arg_max("k", by="v"), s=fl.sum("v")), over(("x", 1), ("y", 2)), {"a": "y", "s": 3}),
        (fl.composite(n=fl.count()), over(True, True), {"n": 2}),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, fl.Aggregate) else "",
)
def test_by_hand(aggregate: fl.Aggregate, content: list[tuple[int, Any]], wanted: Any) -> None:
    found = compute(aggregate, content)
    assert same(found, wanted), f"{found} is not {wanted}"


def test_what_an_aggregate_is_given() -> None:
    record = {"k": "tea", "v": 3}
    assert given(fl.count(), record) is True
    assert given(fl.sum("v"), record) == 3
    assert given(fl.top_by_key("k", "v", 1), record) == ("tea", 3)
    assert given(fl.sum("missing"), record) is None
