"""Aggregates of two columns from scratch; a record counts only where it has both."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate, ArgMax, ArgMin, TopByKey, WeightedAvg
from fanlight.testing.oracle.order import rank
from fanlight.testing.script import same

Rows = list[tuple[int, tuple[Any, Any]]]
"""Times, and the values of both columns."""


def paired(aggregate: Aggregate, content: Rows) -> Any:
    """The value of `aggregate` over times and pairs, in the order of its `columns`."""
    rows = [(time, pair) for time, pair in content if None not in pair]
    match aggregate:
        case WeightedAvg():
            return _weighted([pair for _, pair in rows])
        case ArgMin():
            return min(rows, key=_by_then_value, default=(0, (None, None)))[1][0]
        case ArgMax():
            return max(rows, key=_by_then_value, default=(0, (None, None)))[1][0]
        case TopByKey(key=key, column=value, n=n):
            best = sorted(_last_of_each(rows), key=lambda pair: rank(pair[0]))
            best.sort(key=lambda pair: rank(pair[1]), reverse=True)
            return [{key: one, value: other} for one, other in best[:n]]
    raise SpecError(f"oracle: {aggregate!r} is not on two columns. Use those of fanlight.model.aggregates.paired.")


def _by_then_value(row: tuple[int, tuple[Any, Any]]) -> Any:
    _, (value, by) = row
    return rank(by), rank(value)


def _weighted(pairs: list[tuple[Any, Any]]) -> float | None:
    if any(not math.isfinite(number) for pair in pairs for number in pair):
        weight = sum(float(weight) for _, weight in pairs)
        return sum(float(value) * float(weight) for value, weight in pairs) / weight if weight else None
    total = sum((Fraction(weight) for _, weight in pairs), Fraction(0))
    if not total:
        return None
    return float(sum((Fraction(value) * Fraction(weight) for value, weight in pairs), Fraction(0)) / total)


def _last_of_each(rows: Rows) -> list[tuple[Any, Any]]:
    """One pair for each key: the last by time, the greatest of those at one time."""
    found: list[tuple[Any, Any]] = []
    for _, (key, value) in sorted(rows, key=lambda row: (row[0], rank(row[1][1]))):
        found = [(other, held) for other, held in found if not same(other, key)]
        found.append((key, value))
    return found
