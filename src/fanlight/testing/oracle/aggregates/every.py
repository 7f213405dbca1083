"""Every aggregate from scratch: the whole content of a pane in, one Python value out.

Nulls are left out first. Over no value a count is 0, a list is empty and everything else is null. Arithmetic is
exact (whole numbers, decimals, fractions) and rounded once at the end, so no order of additions shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.aggregates import (
    Aggregate,
    AllTrue,
    AnyTrue,
    ArgMax,
    ArgMin,
    Avg,
    Composite,
    Count,
    CountDistinct,
    First,
    Last,
    Listed,
    Max,
    Min,
    Quantile,
    StdDev,
    Sum,
    Top,
    TopByKey,
    UserAggregate,
    Variance,
    WeightedAvg,
)
from fanlight.model.aggregates.ranked import TopRows
from fanlight.model.order_by import OrderBy
from fanlight.testing.oracle.aggregates.paired import paired
from fanlight.testing.oracle.aggregates.valued import valued
from fanlight.testing.oracle.order import different, null_last, rank, time_then_value
from fanlight.testing.script import Record

EXACT_DIGITS = 1_000
"""More digits than any sum of decimals needs, so that none is rounded."""


_NUMBERS = (Sum, Min, Max, Avg, Variance, StdDev, First, Last, AnyTrue, AllTrue, Quantile)
"""Those that are null over no value, and are not computed elsewhere."""


def given(aggregate: Aggregate, record: Record) -> Any:
    """What `aggregate` works on in a record: its column; a tuple, if there are several; something, if there is none.

    >>> from fanlight.model import aggregates as fl
    >>> given(fl.arg_max("name", by="price"), {"name": "tea", "price": 3})
    ('tea', 3)
    """
    values = tuple(record.get(column) for column in aggregate.columns)
    return values if len(values) > 1 else values[0] if values else True


def compute(aggregate: Aggregate, content: Sequence[tuple[int, Any]]) -> Any:
    """The value of `aggregate` over (time, value) pairs in order of arrival; see `given`.

    >>> from fanlight.model import aggregates as fl
    >>> compute(fl.avg("v"), [(0, 1), (1, None), (2, 4)])
    2.5
    """
    if isinstance(aggregate, Composite):
        return _composite(aggregate, content)
    if isinstance(aggregate, WeightedAvg | ArgMin | ArgMax | TopByKey):
        return paired(aggregate, list(content))
    timed = [(time, value) for time, value in content if value is not None]
    values = [value for _, value in timed]
    if isinstance(aggregate, UserAggregate):
        return _fold(aggregate, values)
    match aggregate:
        case Count():
            return len(values)
        case CountDistinct():
            return len(different(values))
        case Listed(by_arrival=by_arrival):
            return values if by_arrival else [value for _, value in sorted(timed, key=time_then_value)]
        case Top(n=n, by=by):
            return _top(values, by)[:n]
        case TopRows(n=n, order=order):
            return _first_rows(values, order)[:n]
    if not isinstance(aggregate, _NUMBERS):
        return valued(aggregate, timed)
    return _of_some(aggregate, timed, values) if values else None


def _composite(aggregate: Composite, content: Sequence[tuple[int, Any]]) -> dict[str, Any]:
    def record(value: Any) -> Record:
        return dict(zip(aggregate.columns, value if len(aggregate.columns) > 1 else (value,), strict=False))

    return {
        name: compute(part, [(time, given(part, record(value))) for time, value in content])
        for name, part in aggregate.parts
    }


def _of_some(aggregate: Aggregate, timed: list[tuple[int, Any]], values: list[Any]) -> Any:
    match aggregate:
        case Sum():
            return _sum(values)
        case Min():
            return min(values, key=rank)
        case Max():
            return max(values, key=rank)
        case Avg():
            return _mean(values)
        case Variance(population=population):
            return _variance(values, population)
        case StdDev(population=population):
            return _root(_variance(values, population))
        case First():
            return min(timed, key=time_then_value)[1]
        case Last():
            return max(timed, key=time_then_value)[1]
        case AnyTrue():
            return any(values)
        case AllTrue():
            return all(values)
        case Quantile(q=q):
            return _quantile(values, q)
    raise SpecError(f"oracle: aggregate {aggregate!r} is not one it knows. Use those of fanlight.model.aggregates.")


def _top(values: list[Any], by: str | None) -> list[Any]:
    """Greatest first, null last; structs that are equal in `by` by their other fields upwards, null last."""
    if by is None:
        return sorted(values, key=rank, reverse=True)
    others = sorted(values, key=lambda row: [null_last(row[name]) for name in row if name != by])
    return sorted(others, key=lambda row: (row[by] is not None, null_last(row[by])), reverse=True)


def _first_rows(values: list[Any], order: tuple[OrderBy, ...]) -> list[Any]:
    """By the fields of `order`, then by the others upwards; null last either way. Lists have no order."""
    named = {by.column for by in order}
    others = [name for name in (values[0] if values else ()) if name not in named]
    found = sorted(values, key=lambda row: [null_last(_ordered(row[name])) for name in others])
    for by in reversed(order):
        if by.descending:
            found.sort(key=lambda row: (row[by.column] is not None, null_last(row[by.column])), reverse=True)
        else:
            found.sort(key=lambda row: null_last(row[by.column]))
    return found


def _ordered(value: Any) -> Any:
    return None if isinstance(value, list | dict) else value


def _fold(aggregate: UserAggregate, values: list[Any]) -> Any:
    state = aggregate.zero()
    for value in values:
        state = aggregate.add(state, value)
    return aggregate.finish(state)


def _sum(values: list[Any]) -> Any:
    if any(isinstance(value, float) for value in values):
        return _not_finite_sum(values) if not _all_finite(values) else _rounded(_exact_sum(values))
    with localcontext(prec=EXACT_DIGITS):
        return sum(values[1:], start=values[0])


def _mean(values: list[Any]) -> float:
    if not _all_finite(values):
        return _not_finite_sum(values)
    return _rounded(_exact_sum(values) / len(values))


def _variance(values: list[Any], population: bool) -> float | None:
    freedom = len(values) if population else len(values) - 1
    if freedom < 1:
        return None
    if not _all_finite(values):
        return math.nan
    mean = _exact_sum(values) / len(values)
    return _rounded(sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / freedom)


def _root(variance: float | None) -> float | None:
    return None if variance is None else math.sqrt(variance)


def _quantile(values: list[Any], q: float) -> float:
    """Linear between the two values around `q * (n - 1)`.

        values   1    2    4    8
        place    0    1    2    3      q = 0.5 -> place 1.5 -> 3.0

    A NaN is the greatest value: only a quantile that reaches it is NaN.
    """
    ordered = [float(value) for value in sorted(values, key=rank)]
    place = q * (len(ordered) - 1)
    low = ordered[math.floor(place)]
    high = ordered[math.ceil(place)]
    # Equal ends need no arithmetic, which would turn two infinities into NaN.
    return low if low == high else low + (high - low) * (place - math.floor(place))


def _all_finite(values: list[Any]) -> bool:
    return all(not isinstance(value, float) or math.isfinite(value) for value in values)


def _not_finite_sum(values: list[Any]) -> float:
    """What IEEE says: opposite infinities, or a NaN, make NaN."""
    return sum(value for value in values if isinstance(value, float) and not math.isfinite(value))


def _exact_sum(values: list[int | float | Decimal]) -> Fraction:
    return sum((Fraction(value) for value in values), Fraction(0))


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
