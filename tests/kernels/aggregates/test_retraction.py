"""Rows taken back: directly, where what is left is exactly what the other rows give; and which aggregates can."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.aggregates import bind
from fanlight.kernels.aggregates.aggregation import Aggregation
from fanlight.kernels.aggregates.count_sum_mean import CountRows
from fanlight.kernels.aggregates.inputs import input_type
from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.reducer import Reducer, takes_back
from fanlight.model.aggregates import Aggregate
from fanlight.model.firing import FiringTime

PAGE = Path(__file__).parents[3] / "docs" / "aggregates.md"
DIRECTLY, MESSAGES = "directly", "from its messages"

DIRECT: list[tuple[Aggregate, pa.DataType, list[Any]]] = [
    (fl.count("v"), pa.string(), ["a", None]),
    (fl.sum("v"), pa.int64(), [1, -5, 2**63 - 1, -(2**63), None]),
    (fl.sum("v"), pa.uint64(), [3, 2**64 - 1, None]),
    (fl.sum("v"), pa.duration("us"), [timedelta(seconds=1), timedelta(days=-9), None]),
    (fl.sum("v"), pa.decimal128(38, 2), [Decimal("1.25"), Decimal(-(10**36) + 1), None]),
    (fl.avg("v"), pa.int32(), [1, 2, -7, None]),
    (fl.avg("v"), pa.duration("s"), [timedelta(seconds=1), timedelta(seconds=4), None]),
    (fl.avg("v"), pa.decimal128(10, 2), [Decimal("1.25"), Decimal("7.10"), None]),
    (fl.mode("v"), pa.string(), ["a", "b", None]),
    (fl.distinct("v"), pa.float64(), [1.5, -0.0, float("nan"), None]),
    (fl.histogram("v", [1, 3]), pa.int64(), [0, 1, 2, 5, None]),
    (fl.composite(n=fl.count(), s=fl.sum("v")), pa.int64(), [4, 5, None]),
]


def of(aggregate: Aggregate, kind: pa.DataType) -> Reducer:
    reducer = bind(aggregate, input_type(aggregate.columns, pa.schema({"v": kind})))
    assert isinstance(reducer, Reducer)
    return reducer


@pytest.mark.parametrize(("aggregate", "kind", "values"), DIRECT, ids=lambda part: str(part)[:40])
@given(st.data())
def test_what_is_left_is_what_the_other_rows_give(
    aggregate: Aggregate, kind: pa.DataType, values: list[Any], data: st.DataObject
) -> None:
    """Some rows are taken back, in the same bundle as they came or in another one."""
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(values)), max_size=8))
    gone = data.draw(st.sets(st.sampled_from(range(len(rows))))) if rows else set()
    taken = [(*rows[place], True) for place in data.draw(st.permutations(sorted(gone)))]
    changes = [*((*row, False) for row in rows), *taken]
    cut = data.draw(st.integers(0, len(changes)))
    aggregation = Aggregation((CountRows(), of(aggregate, kind)), FiringTime.END, signed=True)

    def partial(some: list[tuple[int, Any, bool]]) -> Any:
        groups = Groups(np.array([group for group, _, _ in some], np.int64), 3)
        deletes = np.array([delete for _, _, delete in some], np.bool_)
        column = pa.array([value for _, value, _ in some], kind)
        return aggregation.partial([column], np.zeros(len(some), np.int64), groups, None, deletes=deletes)

    merged = aggregation.combine(partial(changes[:cut]), partial(changes[cut:]))
    left = partial([(*row, False) for place, row in enumerate(rows) if place not in gone])
    assert aggregation.held(merged).tolist() == aggregation.held(left).tolist()
    assert merged.rows.sum() == len(changes)
    for mine, right in zip(aggregation.finish(merged), aggregation.finish(left), strict=True):
        assert str(mine.to_pylist()) == str(right.to_pylist())  # NaN equals itself
    assert aggregation.outside(merged) == aggregation.outside(left)


EVERY: dict[str, Aggregate] = {
    **{name: getattr(fl, name)("v") for name in ("count", "sum", "avg", "variance", "stddev", "min", "max")},
    **{name: getattr(fl, name)("v") for name in ("first", "last", "mode", "distinct", "sorted", "median")},
    **{name: getattr(fl, name)("v") for name in ("count_distinct", "list", "approx_count_distinct")},
    "any": fl.any("b"),
    "all": fl.all("b"),
    "join_text": fl.join_text("t"),
    "histogram": fl.histogram("v", [1]),
    "top": fl.top("v", 2),
    "quantile": fl.quantile("v", 0.5),
    "weighted_avg": fl.weighted_avg("v", "v"),
    "arg_min": fl.arg_min("v", "v"),
    "arg_max": fl.arg_max("v", "v"),
    "top_by_key": fl.top_by_key("t", "v", 1),
    "approx_quantile": fl.approx_quantile("v", 0.5),
    "heavy_hitters": fl.heavy_hitters("v", 2),
}


def said() -> dict[str, str]:
    """What the tables of the page say, by aggregate."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `") and line.rstrip("|").rpartition("|")[2].strip().startswith((DIRECTLY, MESSAGES)):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found |= dict.fromkeys(re.findall(r"`(\w+)\(", cells[0]), cells[-1])
    return found


class TestPage:
    def test_it_has_every_aggregate(self) -> None:
        assert said().keys() == EVERY.keys()

    @pytest.mark.parametrize("name", EVERY)
    def test_it_says_of_each_what_it_does(self, name: str) -> None:
        whole = pa.schema({"v": pa.int64(), "b": pa.bool_(), "t": pa.string()})
        word = said()[name]
        assert takes_back(bind(EVERY[name], input_type(EVERY[name].columns, whole))) == word.startswith(DIRECTLY)
        if name in ("sum", "avg"):
            assert word == f"{DIRECTLY}; of floats, {MESSAGES}"
            assert not takes_back(bind(EVERY[name], pa.float64()))
