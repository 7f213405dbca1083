"""Aggregates that go by the values themselves, from scratch: how often, in which order, between which edges.

The approximate ones are computed exactly: for as few values as a test has, they must be exact.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.aggregates import (
    Aggregate,
    ApproxCountDistinct,
    ApproxQuantile,
    Distinct,
    HeavyHitters,
    Histogram,
    JoinedText,
    Mode,
    Sorted,
    UserFold,
    UserReduce,
)
from fanlight.testing.oracle.order import different, rank, time_then_value
from fanlight.testing.script import same

Timed = list[tuple[int, Any]]


def valued(aggregate: Aggregate, timed: Timed) -> Any:
    """The value of `aggregate` over (time, value) pairs without nulls, in order of arrival."""
    values = [value for _, value in timed]
    match aggregate:
        case Sorted(descending=descending):
            return sorted(values, key=rank, reverse=descending)
        case Distinct():
            return sorted(different(values), key=rank)
        case ApproxCountDistinct():
            return len(different(values))
        case HeavyHitters(n=n):
            return [{"value": value, "count": count} for value, count in _frequencies(values)[:n]]
        case Mode():
            return _frequencies(values)[0][0] if values else None
        case Histogram(edges=edges):
            return _histogram(values, edges)
        case ApproxQuantile(q=q):
            ordered = sorted(values, key=rank)
            return float(ordered[min(math.floor(q * len(ordered)), len(ordered) - 1)]) if ordered else None
    return _in_order(aggregate, timed)


def _in_order(aggregate: Aggregate, timed: Timed) -> Any:
    by_time = [value for _, value in sorted(timed, key=lambda pair: pair[0])]
    match aggregate:
        case JoinedText(separator=separator):
            return separator.join(value for _, value in sorted(timed, key=time_then_value)) if timed else None
        case UserFold():
            return reduce(aggregate.add, by_time, aggregate.zero())
        case UserReduce(function=function):
            assert function is not None
            return reduce(function, by_time) if by_time else None
    raise SpecError(f"oracle: aggregate {aggregate!r} is not one it knows. Use those of fanlight.model.aggregates.")


def _frequencies(values: list[Any]) -> list[tuple[Any, int]]:
    """The different values and how often each is there: most often first, then by value."""
    counted = [(value, sum(same(value, other) for other in values)) for value in different(values)]
    return sorted(sorted(counted, key=lambda pair: rank(pair[0])), key=lambda pair: -pair[1])


def _histogram(values: list[Any], edges: tuple[float, ...]) -> list[int]:
    counts = [0] * (len(edges) + 1)
    for value in values:
        is_nan = isinstance(value, float) and math.isnan(value)
        number = value if isinstance(value, int) else float(value)
        counts[len(edges) if is_nan else sum(number >= edge for edge in edges)] += 1
    return counts
