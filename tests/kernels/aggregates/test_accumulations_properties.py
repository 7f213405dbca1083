"""The laws of the accumulations, against the oracle: any split into partials and any order of merging gives the value.

Those that need the messages are tried as they are, and as `GatheredLists`, which makes partials of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanlight.kernels.aggregates import MessageReducer, bind
from fanlight.kernels.aggregates.gathered_lists import GatheredLists
from fanlight.kernels.grouping.groups import Groups
from fanlight.model import aggregates as fl
from fanlight.testing.oracle.aggregates import every as oracle
from fanlight.testing.script import same

pytestmark = pytest.mark.slow

FEW = settings(max_examples=settings.default.max_examples // 4)
GROUPS = 3

FLOATS = st.sampled_from([0.0, -0.0, 0.25, -1.5, 7.75, math.nan, math.inf, -math.inf])
QUARTERS = st.integers(-20, 20).map(lambda n: n / 4)
MOMENTS = st.integers(0, 9).map(lambda s: datetime.fromtimestamp(s, UTC))
STRUCT = pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string())])
STRUCTS = st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from("xy")).map(
    lambda fields: dict(zip("ab", fields, strict=True))
)

SINGLE: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1]),
    pa.uint8(): st.integers(0, 255),
    pa.uint64(): st.sampled_from([0, 1, 2**64 - 1, 2**63]),
    pa.float64(): FLOATS,
    pa.float32(): FLOATS,
    pa.float16(): FLOATS,
    pa.bool_(): st.booleans(),
    pa.decimal128(10, 2): st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
    pa.decimal256(40, 2): st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
    pa.timestamp("us", "UTC"): MOMENTS,
    pa.string(): st.text("aé\N{SNOWMAN}", max_size=2) | st.text("ab", min_size=15, max_size=33),
    pa.large_string(): st.text("ab", max_size=2),
    pa.binary(): st.binary(max_size=2),
    pa.binary(2): st.binary(min_size=2, max_size=2),
}
NUMBERS = {kind: SINGLE[kind] for kind in (pa.int64(), pa.uint8(), pa.uint64(), pa.float64(), pa.decimal128(10, 2))}
TEXTS = {kind: SINGLE[kind] for kind in (pa.string(), pa.large_string())}


def nullable(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@dataclass(frozen=True)
class Case:
    """An aggregate, the columns it works on, and their values."""

    aggregate: fl.Aggregate
    columns: tuple[tuple[pa.DataType, st.SearchStrategy[Any]], ...]
    tolerance: float = 0.0

    def __str__(self) -> str:
        return "-".join([type(self.aggregate).__name__, *(str(kind) for kind, _ in self.columns)])

    @property
    def kind(self) -> pa.DataType:
        names = self.aggregate.columns
        fields = [pa.field(name, kind) for name, (kind, _) in zip(names, self.columns, strict=True)]
        return pa.struct(fields) if len(fields) > 1 else fields[0].type

    def rows(self, *, times: int = 3) -> st.SearchStrategy[list[Any]]:
        value = st.tuples(*(nullable(values) for _, values in self.columns))
        if len(self.columns) == 1:
            value = value.map(lambda one: one[0])
        return st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(0, times), value), max_size=14)

    def array(self, rows: list[Any]) -> pa.Array:
        values = [value for _, _, value in rows]
        if len(self.columns) == 1:
            return pa.array(values, self.kind)
        columns = [pa.array([value[i] for value in values], kind) for i, (kind, _) in enumerate(self.columns)]
        return pa.StructArray.from_arrays(columns, fields=list(self.kind))

    def wanted(self, rows: list[Any]) -> list[Any]:
        return [
            oracle.compute(self.aggregate, [(time, value) for group, time, value in rows if group == g])
            for g in range(GROUPS)
        ]


def on_each(aggregate: fl.Aggregate, kinds: dict[Any, Any]) -> list[Case]:
    return [Case(aggregate, ((kind, values),)) for kind, values in kinds.items()]


def on_pairs(
    aggregate: fl.Aggregate, kinds: dict[Any, Any], others: dict[Any, Any], tolerance: float = 0.0
) -> list[Case]:
    """Every kind with one of the others, and every other with one of the kinds."""
    first, second = list(kinds.items()), list(others.items())
    longest = max(len(first), len(second))
    return [Case(aggregate, (first[i % len(first)], second[i % len(second)]), tolerance) for i in range(longest)]


WEIGHTS = {pa.float64(): st.integers(0, 8).map(lambda n: n / 4), pa.int16(): st.integers(0, 5)}
KEYS = {**SINGLE, STRUCT: STRUCTS}

INCREMENTAL = [
    *on_each(fl.distinct("v"), KEYS),
    *on_each(fl.mode("v"), KEYS),
    *on_each(fl.heavy_hitters("v", 2), KEYS),
    *on_each(fl.approx_count_distinct("v"), SINGLE),
    *on_each(fl.approx_quantile("v", 0.5), NUMBERS),
    *on_each(fl.approx_quantile("v", 1), {pa.float64(): FLOATS}),
    *on_each(fl.approx_quantile("v", 0.9), {pa.float64(): FLOATS}),
    *on_each(fl.histogram("v", [-1.5, 0, 0.25, 2.5, 2**63]), NUMBERS),
    *on_each(fl.histogram("v", [-1e30, 1e30]), {pa.int64(): SINGLE[pa.int64()], pa.uint8(): SINGLE[pa.uint8()]}),
    *on_each(fl.fold("v", 0, add, pa.int64(), merge=add), {pa.int8(): st.integers(-9, 9)}),
    *on_pairs(fl.weighted_avg("v", "w"), {pa.float64(): QUARTERS, pa.int64(): st.integers(-9, 9)}, WEIGHTS, 1e-9),
    *on_pairs(fl.weighted_avg("v", "w"), {pa.decimal128(10, 2): SINGLE[pa.decimal128(10, 2)]}, WEIGHTS, 1e-9),
    *on_pairs(fl.arg_min("v", by="w"), KEYS, SINGLE),
    *on_pairs(fl.arg_max("v", by="w"), KEYS, SINGLE),
    *on_pairs(fl.top_by_key("k", "v", 2), KEYS, SINGLE),
    Case(
        fl.composite(n=fl.count(), least=fl.min("v"), best=fl.arg_max("k", by="v"), kinds=fl.distinct("k")),
        ((pa.int64(), st.integers(-3, 3)), (pa.string(), st.sampled_from("abc"))),
    ),
    Case(fl.composite(n=fl.count("v"), more=fl.composite(m=fl.mode("v"))), ((STRUCT, STRUCTS),)),
]

OF_MESSAGES = [
    *on_each(fl.sorted("v"), KEYS),
    *on_each(fl.sorted("v", descending=True), KEYS),
    *on_each(fl.join_text("v", " | "), TEXTS),
    *on_each(fl.fold("v", "", lambda state, value: f"{state}{value},", pa.string()), {pa.int64(): st.integers(0, 9)}),
    *on_each(fl.reduce("v", lambda one, other: one + other), TEXTS),
    *on_each(fl.list("v"), {pa.int64(): st.integers(-3, 3), pa.string(): st.text("ab", max_size=2)}),
    *on_each(fl.list("v", by_arrival=True), {pa.int64(): st.integers(-3, 3)}),
    *on_each(fl.median("v"), {pa.float64(): QUARTERS}),
    Case(
        fl.composite(n=fl.count(), all=fl.sorted("k"), total=fl.sum("v"), best=fl.arg_min("k", by="v")),
        ((pa.string(), st.sampled_from("abc")), (pa.int64(), st.integers(-3, 3))),
    ),
]


def columns(case: Case, rows: list[Any]) -> tuple[pa.Array, Any, Groups]:
    times = np.array([time for _, time, _ in rows], np.int64)
    codes = np.array([group for group, _, _ in rows], np.int64)
    return case.array(rows), times, Groups(codes, GROUPS)


def joined(parts: list[list[Any]]) -> list[Any]:
    return [
        pa.concat_arrays(same) if isinstance(same[0], pa.Array) else np.concatenate(same)
        for same in zip(*parts, strict=True)
    ]


def picked(partials: list[Any], places: Any) -> list[Any]:
    return [column.take(pa.array(places)) if isinstance(column, pa.Array) else column[places] for column in partials]


def aligned(parts: int) -> Groups:
    return Groups(np.tile(np.arange(GROUPS), parts), GROUPS)


def agree(found: pa.Array, wanted: list[Any], tolerance: float) -> None:
    found.validate(full=True)
    assert same(found.to_pylist(), wanted, tolerance=tolerance), f"{found.to_pylist()} is not {wanted}"


def well_formed(reducer: Any, partials: list[Any]) -> None:
    for column, field in zip(partials, reducer.fields, strict=True):
        assert len(column) == GROUPS
        if isinstance(column, np.ndarray):
            assert pa.from_numpy_dtype(column.dtype) == field.type
            assert not field.nullable
        else:
            assert column.type == field.type
            column.validate(full=True)


@FEW
@pytest.mark.parametrize("case", INCREMENTAL, ids=str)
@given(data=st.data())
def test_any_split_and_any_order_of_merging_gives_the_value(case: Case, data: st.DataObject) -> None:
    reducer: Any = bind(case.aggregate, case.kind)
    rows = data.draw(case.rows())
    cut, second = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    places = np.array(data.draw(st.permutations(range(3 * GROUPS))))

    def partial(rows: list[Any]) -> list[Any]:
        values, times, groups = columns(case, rows)
        return list(reducer.partial(values, times, groups, groups.sizes()))

    wanted = case.wanted(rows)
    parts = [partial(rows[:cut]), partial(rows[cut:second]), partial(rows[second:])]
    alone, flat = reducer.identity(GROUPS), joined(parts)
    for partials in (
        partial(rows),
        partial(rows[::-1]),
        reducer.merge(flat, aligned(3)),
        reducer.merge(picked(flat, places), Groups(aligned(3).codes[places], GROUPS)),
        reducer.merge(joined([reducer.merge(joined(parts[:2]), aligned(2)), parts[2]]), aligned(2)),
        reducer.combine(parts[2], reducer.combine(parts[1], parts[0])),
        reducer.combine(alone, partial(rows)),
        reducer.merge(joined([alone, partial(rows), alone]), aligned(3)),
        [column[GROUPS:] for column in joined([alone, partial(rows)])],
    ):
        well_formed(reducer, partials)
        found = reducer.finish(partials)
        assert found.type == reducer.output
        agree(found, wanted, case.tolerance)


@FEW
@pytest.mark.parametrize("case", OF_MESSAGES, ids=str)
@given(data=st.data())
def test_messages_give_the_value_in_whatever_order_they_lie(case: Case, data: st.DataObject) -> None:
    reducer: Any = bind(case.aggregate, case.kind)
    assert isinstance(reducer, MessageReducer)
    rows = data.draw(case.rows())
    order = np.array(data.draw(st.permutations(range(len(rows)))), np.int64)
    values, times, groups = columns(case, rows)
    shuffled = Groups(groups.codes[order], GROUPS)
    found = reducer.compute(values.take(pa.array(order)), times[order], order, shuffled)
    assert found.type == reducer.output
    agree(found, case.wanted(rows), case.tolerance)


@FEW
@pytest.mark.parametrize("case", OF_MESSAGES, ids=str)
@given(data=st.data())
def test_messages_in_lists_are_partials_like_others(case: Case, data: st.DataObject) -> None:
    """Merged in the order in which they came, they keep it; with numbers of arrival, in any order."""
    inner: Any = bind(case.aggregate, case.kind)
    reducer = GatheredLists(inner, case.kind)
    rows = data.draw(case.rows())
    cut, second = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    places = np.array(data.draw(st.permutations(range(3 * GROUPS))))
    spans = [(0, cut), (cut, second), (second, len(rows))]

    def partial(start: int, end: int) -> list[Any]:
        values, times, groups = columns(case, rows[start:end])
        return reducer.partial(values, times, groups, groups.sizes())

    def numbered(start: int, end: int) -> list[Any]:
        values, times, groups = columns(case, rows[start:end])
        return reducer.numbered(values, times, np.arange(start, end), groups)

    parts, numbers = [partial(*span) for span in spans], [numbered(*span) for span in spans]
    alone = reducer.identity(GROUPS)
    for partials in (
        partial(0, len(rows)),
        reducer.merge(joined(parts), aligned(3)),
        reducer.combine(reducer.combine(alone, parts[0]), reducer.combine(parts[1], parts[2])),
        reducer.merge(picked(joined(numbers), places), Groups(aligned(3).codes[places], GROUPS)),
        reducer.combine(numbers[2], reducer.combine(numbers[0], numbers[1])),
        [column[GROUPS:] for column in joined([alone, partial(0, len(rows))])],
    ):
        well_formed(reducer, partials)
        agree(reducer.finish(partials), case.wanted(rows), case.tolerance)
