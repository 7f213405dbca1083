"""Aggregates over one column that fold value by value: counts, sums, extremes, variances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanlight.model.aggregates.aggregate import Aggregate


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """How many records, or how many non-null values of a column."""

    takes: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The sum; exact on integers and decimals, an error rather than an overflow."""


@dataclass(frozen=True, slots=True)
class Min(Aggregate):
    """The least value; NaN counts as greater than every number."""


@dataclass(frozen=True, slots=True)
class Max(Aggregate):
    """The greatest value; NaN counts as greater than every number."""


@dataclass(frozen=True, slots=True)
class Avg(Aggregate):
    """The mean."""


@dataclass(frozen=True, slots=True)
class Variance(Aggregate):
    """The variance: of the sample (null for one value), or of the whole population."""

    population: bool = False


@dataclass(frozen=True, slots=True)
class StdDev(Aggregate):
    """The square root of the variance."""

    population: bool = False


@dataclass(frozen=True, slots=True)
class First(Aggregate):
    """The value with the least event time; of several, the least value, so arrival order never matters."""


@dataclass(frozen=True, slots=True)
class Last(Aggregate):
    """The value with the greatest event time; of several, the greatest value."""


@dataclass(frozen=True, slots=True)
class AnyTrue(Aggregate):
    """Whether a value is true."""


@dataclass(frozen=True, slots=True)
class AllTrue(Aggregate):
    """Whether no value is false."""


def count(column: str | None = None) -> Count:
    """How many records, or non-null values of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.count()).table()["x"].to_pylist()
    [3]
    """
    return Count(column)


def sum(column: str) -> Sum:
    """The sum of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.sum("price")).table()["x"].to_pylist()
    [13]
    """
    return Sum(column)


def min(column: str) -> Min:
    """The least value of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.min("price")).table()["x"].to_pylist()
    [3]
    """
    return Min(column)


def max(column: str) -> Max:
    """The greatest value of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.max("price")).table()["x"].to_pylist()
    [5]
    """
    return Max(column)


def avg(column: str) -> Avg:
    """The mean of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.avg("price")).table()["x"].to_pylist()
    [4.0]
    """
    return Avg(column)


def variance(column: str, *, population: bool = False) -> Variance:
    """The variance of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.variance("price")).table()["x"].to_pylist()
    [2.0]
    """
    return Variance(column, population)


def stddev(column: str, *, population: bool = False) -> StdDev:
    """The standard deviation of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.stddev("price", population=True)).table()["x"].to_pylist()
    [1.0]
    """
    return StdDev(column, population)


def first(column: str) -> First:
    """The value of `column` with the least event time.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.first("price")).table()["x"].to_pylist()
    [3]
    """
    return First(column)


def last(column: str) -> Last:
    """The value of `column` with the greatest event time.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.last("price")).table()["x"].to_pylist()
    [5]
    """
    return Last(column)


def any(column: str) -> AnyTrue:
    """Whether a value of `column` is true.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "ok": True}, {"ts": 2, "ok": False}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.any("ok")).table()["x"].to_pylist()
    [True]
    """
    return AnyTrue(column)


def all(column: str) -> AllTrue:
    """Whether no value of `column` is false.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "ok": True}, {"ts": 2, "ok": False}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.all("ok")).table()["x"].to_pylist()
    [False]
    """
    return AllTrue(column)
