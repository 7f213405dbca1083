"""The laws of reducers, against a reference in plain Python.

Merging the partials of any split gives the partial of the whole, in whatever order and however nested; the identity
changes nothing. Exact for everything but floats that were added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanlight.kernels.aggregates import bind
from fanlight.kernels.grouping.groups import Groups
from fanlight.model import aggregates as fl

pytestmark = pytest.mark.slow

FEW = settings(max_examples=settings.default.max_examples // 3)
"""For laws that are tried on every type anyway."""

GROUPS = 4
COLUMN = "v"

Row = tuple[int, int, Any]  # group, time, value
Values = list[tuple[int, Any]]  # the non-null values of one group, with their times


# ── types and their values ───────────────────────────────────────────────────────────────────────────────────────

DECIMALS = st.decimals(-(10**10), 10**10, places=2)
FLOATS = st.floats(-1e6, 1e6)
ODD_FLOATS = st.one_of(FLOATS, st.sampled_from([math.nan, math.inf, -math.inf]))

WHOLE = {
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**55), 2**55),
    pa.uint16(): st.integers(0, 2**16 - 1),
    pa.uint64(): st.integers(0, 2**55),
}
FLOATING = {
    pa.float16(): st.floats(-1e3, 1e3, width=16),
    pa.float32(): st.floats(-1e6, 1e6, width=32),
    pa.float64(): FLOATS,
}
DURATIONS = {pa.duration("us"): st.integers(-(10**12), 10**12).map(lambda micros: timedelta(microseconds=micros))}
DECIMAL = {pa.decimal128(20, 2): DECIMALS, pa.decimal256(28, 2): DECIMALS, pa.decimal64(14, 2): DECIMALS}
ORDERED: dict[pa.DataType, st.SearchStrategy[Any]] = {
    **WHOLE,
    **DURATIONS,
    **DECIMAL,
    pa.float16(): st.one_of(FLOATING[pa.float16()], st.just(math.nan)),
    pa.float32(): st.one_of(FLOATING[pa.float32()], st.sampled_from([math.nan, math.inf, -math.inf])),
    pa.float64(): ODD_FLOATS,
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.time32("s"): st.integers(0, 86_399).map(lambda s: time(s // 3600, s // 60 % 60, s % 60)),
    pa.time64("us"): st.times(),
    pa.timestamp("us"): st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)),  # noqa: DTZ001 - a type without zone
    pa.timestamp("ms", "UTC"): st.integers(0, 10**12).map(lambda ms: datetime.fromtimestamp(ms // 1000, UTC)),
    pa.string(): st.text(max_size=3),
    pa.large_string(): st.text(max_size=3),
    pa.string_view(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.large_binary(): st.binary(max_size=3),
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.dictionary(pa.int32(), pa.string()): st.sampled_from(["a", "b", "c"]),
}


# ── the reference ────────────────────────────────────────────────────────────────────────────────────────────────


def rank(value: Any) -> tuple[bool, Any]:
    """NaN after every number."""
    unordered = isinstance(value, float) and math.isnan(value)
    return (unordered, 0 if unordered else value)


def total(values: Values) -> Any:
    return sum((value for _, value in values[1:]), start=values[0][1]) if values else None


def mean(values: Values) -> Any:
    return float(Fraction(total(values)) / len(values)) if values else None


def decimal_mean(values: Values) -> Any:
    wide = Context(prec=60, rounding=ROUND_HALF_UP)
    return wide.divide(total(values), Decimal(len(values))).quantize(Decimal("1e-6"), context=wide) if values else None


def duration_mean(values: Values) -> Any:
    if not values:
        return None
    micros = Fraction(total(values) // timedelta(microseconds=1), len(values))
    away = math.floor(abs(micros) + Fraction(1, 2))
    return timedelta(microseconds=away if micros >= 0 else -away)


def least(values: Values) -> Any:
    return min((value for _, value in values), key=rank, default=None)


def greatest(values: Values) -> Any:
    return max((value for _, value in values), key=rank, default=None)


def first(values: Values) -> Any:
    return min(values, key=lambda pair: (pair[0], rank(pair[1])), default=(0, None))[1]


def last(values: Values) -> Any:
    return max(values, key=lambda pair: (pair[0], rank(pair[1])), default=(0, None))[1]


def spread(values: Values, *, population: bool, root: bool) -> Any:
    exact = [Fraction(value) for _, value in values]
    if len(exact) < (1 if population else 2):
        return None
    variance = float(statistics.pvariance(exact) if population else statistics.variance(exact))
    return math.sqrt(variance) if root else variance


@dataclass(frozen=True)
class Case:
    """An aggregate on a type, with the values it is tried on and what it should say."""

    aggregate: fl.Aggregate
    kind: pa.DataType
    values: st.SearchStrategy[Any]
    reference: Callable[[Values], Any]
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{type(self.aggregate).__name__}-{self.kind}"


def cases(
    aggregate: fl.Aggregate,
    kinds: dict[Any, st.SearchStrategy[Any]],
    reference: Callable[[Values], Any],
    tolerance: float = 0.0,
) -> list[Case]:
    return [Case(aggregate, kind, values, reference, tolerance) for kind, values in kinds.items()]


INCREMENTAL = [
    *cases(fl.count(COLUMN), {pa.int64(): WHOLE[pa.int64()], pa.string(): st.text(max_size=2)}, len),
    *cases(fl.count(COLUMN), {pa.list_(pa.int8()): st.lists(st.integers(0, 9), max_size=2), pa.null(): st.none()}, len),
    *cases(fl.sum(COLUMN), {**WHOLE, **DURATIONS, **DECIMAL}, total),
    *cases(fl.sum(COLUMN), FLOATING, total, 1e-6),
    *cases(fl.sum(COLUMN), {pa.float64(): ODD_FLOATS}, total, 1e-6),
    *cases(fl.avg(COLUMN), {**WHOLE, **FLOATING}, mean, 1e-6),
    *cases(fl.avg(COLUMN), DECIMAL, decimal_mean),
    *cases(fl.avg(COLUMN), DURATIONS, duration_mean),
    *cases(fl.min(COLUMN), ORDERED, least),
    *cases(fl.max(COLUMN), ORDERED, greatest),
    *cases(fl.first(COLUMN), ORDERED, first),
    *cases(fl.last(COLUMN), ORDERED, last),
    *cases(fl.any(COLUMN), {pa.bool_(): st.booleans()}, greatest),
    *cases(fl.all(COLUMN), {pa.bool_(): st.booleans()}, least),
    *(
        case
        for population in (False, True)
        for kinds in (FLOATING, DECIMAL, {pa.int32(): WHOLE[pa.int32()]})
        for case in (
            *cases(
                fl.variance(COLUMN, population=population),
                kinds,
                lambda values, population=population: spread(values, population=population, root=False),
                1e-6,
            ),
            *cases(
                fl.stddev(COLUMN, population=population),
                kinds,
                lambda values, population=population: spread(values, population=population, root=True),
                1e-6,
            ),
        )
    ),
]


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────────────────────


def by_group(rows: list[Row]) -> list[Values]:
    return [[(at, value) for group, at, value in rows if group == g and value is not None] for g in range(GROUPS)]


def columns(rows: list[Row], kind: pa.DataType) -> tuple[Any, np.ndarray[Any, Any], Groups]:
    values = pa.array([value for _, _, value in rows], kind.value_type if isinstance(kind, pa.DictionaryType) else kind)
    times = np.array([at for _, at, _ in rows], np.int64)
    codes = np.array([group for group, _, _ in rows], np.int64)
    return values.cast(kind), times, Groups(codes, GROUPS)


def joined(parts: list[list[Any]]) -> list[Any]:
    """Several sets of partial rows, one after the other."""
    return [
        pa.concat_arrays(same) if isinstance(same[0], pa.Array) else np.concatenate(same)
        for same in zip(*parts, strict=True)
    ]


def aligned(parts: int) -> Groups:
    """The groups of `parts` sets of partials, one row a group each."""
    return Groups(np.tile(np.arange(GROUPS), parts), GROUPS)


def same(found: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, float) and isinstance(found, float):
        if math.isnan(wanted) or math.isinf(wanted) or not tolerance:
            return repr(found + 0.0) == repr(wanted + 0.0)
        return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return bool(found == wanted) and (found is None) == (wanted is None)


def agree(found: pa.Array, wanted: list[Any], tolerance: float) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found.to_pylist(), wanted, strict=True):
        assert same(one, other, tolerance), f"{found.to_pylist()} is not {wanted}"


@FEW
@pytest.mark.parametrize("case", INCREMENTAL, ids=str)
@given(data=st.data())
def test_partials_are_a_commutative_monoid_over_the_rows(case: Case, data: st.DataObject) -> None:
    reducer: Any = bind(case.aggregate, case.kind)
    value = st.one_of(st.none(), case.values)
    rows = data.draw(st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(0, 3), value), max_size=12))
    cut, second = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    turn = data.draw(st.integers(0, 3 * GROUPS))

    def partial(rows: list[Row]) -> list[Any]:
        values, times, groups = columns(rows, case.kind)
        return list(reducer.partial(values, times, groups, groups.sizes()))

    wanted = [case.reference(values) for values in by_group(rows)]
    parts = [partial(rows[:cut]), partial(rows[cut:second]), partial(rows[second:])]
    alone = reducer.identity(GROUPS)
    flat = joined(parts)
    places = np.roll(np.arange(3 * GROUPS), turn)[::-1]
    mixed = [column.take(places) if isinstance(column, pa.Array) else column[places] for column in flat]
    nested = reducer.merge(joined([reducer.merge(joined(parts[:2]), aligned(2)), parts[2]]), aligned(2))

    for partials in (
        partial(rows),
        partial(rows[::-1]),
        reducer.merge(flat, aligned(3)),
        reducer.merge(mixed, Groups(aligned(3).codes[places], GROUPS)),
        nested,
        reducer.combine(reducer.combine(parts[0], parts[1]), parts[2]),
        reducer.combine(parts[2], reducer.combine(parts[1], parts[0])),
        reducer.combine(partial(rows), alone),
        reducer.combine(alone, partial(rows)),
        reducer.merge(joined([alone, partial(rows), alone]), aligned(3)),
    ):
        agree(reducer.finish(partials), wanted, case.tolerance)
        assert reducer.finish(partials).type == reducer.output
        for column, field in zip(partials, reducer.fields, strict=True):
            assert len(column) == GROUPS
            if isinstance(column, np.ndarray):
                assert pa.from_numpy_dtype(column.dtype) == field.type
                assert not field.nullable
            else:
                assert column.type == field.type


SCALARS = {kind: ORDERED[kind] for kind in ORDERED if kind != pa.float64()} | {pa.float64(): ODD_FLOATS}
MESSAGE_ROWS = 12


def arrived(rows: list[Row], arrivals: list[int]) -> list[list[tuple[int, int, Any]]]:
    """The non-null (time, arrival, value) of each group."""
    return [
        [
            (at, arrival, value)
            for (group, at, value), arrival in zip(rows, arrivals, strict=True)
            if group == g and value is not None
        ]
        for g in range(GROUPS)
    ]


def message_rows(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[list[Row], list[int]]]:
    row = st.tuples(st.integers(0, GROUPS - 1), st.integers(0, 2), st.one_of(st.none(), values))
    return st.lists(row, max_size=MESSAGE_ROWS).flatmap(
        lambda rows: st.tuples(st.just(rows), st.permutations(range(len(rows))).map(list))
    )


def compute(aggregate: fl.Aggregate, kind: pa.DataType, rows: list[Row], arrivals: list[int]) -> pa.Array:
    reducer: Any = bind(aggregate, kind)
    values, times, groups = columns(rows, kind)
    result: pa.Array = reducer.compute(values, times, np.array(arrivals, np.int64), groups)
    assert result.type == reducer.output
    result.validate(full=True)
    return result


@FEW
@pytest.mark.parametrize("kind", SCALARS, ids=str)
@given(data=st.data())
def test_a_list_is_ordered_by_time_then_value_or_by_arrival(kind: pa.DataType, data: st.DataObject) -> None:
    rows, arrivals = data.draw(message_rows(SCALARS[kind]))
    by_value = [
        [value for _, _, value in sorted(group, key=lambda row: (row[0], rank(row[2])))]
        for group in arrived(rows, arrivals)
    ]
    by_arrival = [[value for _, _, value in sorted(group, key=lambda row: row[1])] for group in arrived(rows, arrivals)]
    for found, wanted in (
        (compute(fl.list(COLUMN), kind, rows, arrivals), by_value),
        (compute(fl.list(COLUMN, by_arrival=True), kind, rows, arrivals), by_arrival),
    ):
        for listed, values in zip(found.to_pylist(), wanted, strict=True):
            assert list(map(rank, listed)) == list(map(rank, values))


@given(message_rows(st.lists(st.integers(0, 3), max_size=2)))
def test_a_list_of_what_does_not_sort_is_ordered_by_time_then_arrival(drawn: tuple[list[Row], list[int]]) -> None:
    rows, arrivals = drawn
    found = compute(fl.list(COLUMN), pa.list_(pa.int64()), rows, arrivals)
    assert found.to_pylist() == [
        [value for _, _, value in sorted(group, key=lambda row: row[:2])] for group in arrived(rows, arrivals)
    ]


@FEW
@pytest.mark.parametrize("kind", SCALARS, ids=str)
@given(data=st.data())
def test_distinct_values_are_counted(kind: pa.DataType, data: st.DataObject) -> None:
    rows, arrivals = data.draw(message_rows(SCALARS[kind]))
    found = compute(fl.count_distinct(COLUMN), kind, rows, arrivals)
    assert found.to_pylist() == [len({rank(value) for _, value in values}) for values in by_group(rows)]


@FEW
@pytest.mark.parametrize("kind", [*WHOLE, *FLOATING, *DECIMAL], ids=str)
@given(data=st.data(), q=st.floats(0, 1))
def test_a_quantile_lies_between_the_two_values_around_its_place(
    kind: pa.DataType, data: st.DataObject, q: float
) -> None:
    rows, arrivals = data.draw(message_rows({**WHOLE, **FLOATING, **DECIMAL}[kind]))
    found = compute(fl.quantile(COLUMN, q), kind, rows, arrivals)
    for result, values in zip(found.to_pylist(), by_group(rows), strict=True):
        ordered = sorted(float(value) for _, value in values)
        if not ordered:
            assert result is None
            continue
        wanted = float(np.quantile(ordered, q))
        assert math.isclose(result, wanted, rel_tol=1e-9, abs_tol=1e-9)
        assert ordered[0] <= result <= ordered[-1]
        if q in (0, 1):
            assert result == ordered[-int(q)]


def test_a_date_is_a_date() -> None:
    """What the strategies draw is what comes back: the type survives with its unit and zone."""
    reducer: Any = bind(fl.max(COLUMN), pa.date32())
    values, times, groups = columns([(0, 0, date(2026, 1, 31))], pa.date32())
    found = reducer.finish(reducer.partial(values, times, groups, groups.sizes()))
    assert found.to_pylist() == [date(2026, 1, 31), None, None, None]
