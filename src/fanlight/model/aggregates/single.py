"""Aggregates over one column: counts, sums, extremes, variances, lists."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import ClassVar

from fanlight.errors import SpecError
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


@dataclass(frozen=True, slots=True)
class Listed(Aggregate):
    """All values, nulls left out: by event time, then value; or as they arrived."""

    by_arrival: bool = False
    of_messages: ClassVar[bool] = True

    @property
    def heeds_arrival(self) -> bool:
        """If it is said so."""
        return self.by_arrival


@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """The exact quantile, linear between the two values around it."""

    q: float = 0.5
    of_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if not 0 <= self.q <= 1:
            raise SpecError(f"Quantile: `q` ({self.q}) must be from 0 to 1. Use 0.5 for the median.")


@dataclass(frozen=True, slots=True)
class CountDistinct(Aggregate):
    """How many different non-null values, exactly."""

    of_messages: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Top(Aggregate):
    """The `n` greatest values, greatest first; of structs, those greatest in the field `by`.

    Structs that are equal in `by` stand in ascending order of their other fields, so arrival order never matters.
    """

    n: int = 10
    by: str | None = None
    of_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        given: object = self.n
        if not isinstance(given, int) or given < 1:
            raise SpecError(
                f"Top: `n` ({self.n!r}) must be a whole number from 1 up; an empty list says nothing. "
                "Use top('price', 10)."
            )


@dataclass(frozen=True, slots=True)
class Sorted(Aggregate):
    """All values in order, nulls left out; structs by their fields, first to last, a null field last.

    Descending is the exact reverse.
    """

    descending: bool = False
    of_messages: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Distinct(Aggregate):
    """The different values in order, nulls left out; NaN equals NaN, and zero has no sign."""


@dataclass(frozen=True, slots=True)
class Mode(Aggregate):
    """The most frequent value; of several, the least."""


@dataclass(frozen=True, slots=True)
class JoinedText(Aggregate):
    """All texts in one, by event time, then text, with a separator between two of them."""

    separator: str = ", "
    of_messages: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Histogram(Aggregate):
    """How many values lie between each two edges, and how many below the first and from the last one on.

    edges            10        20
    counts      0    |    1    |    2          NaN counts as greater than every number
                < 10 |  < 20   |  the rest
    """

    edges: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if not self.edges or not _ascend(self.edges):
            raise SpecError(
                f"Histogram: `edges` ({self.edges}) must be finite numbers, at least one, each above the one before; "
                "otherwise a value has no place among them. Use histogram('price', [1, 10, 100])."
            )


def count(column: str | None = None) -> Count:
    """How many records, or non-null values of `column`."""
    return Count(column)


def sum(column: str) -> Sum:
    """The sum of `column`."""
    return Sum(column)


def min(column: str) -> Min:
    """The least value of `column`."""
    return Min(column)


def max(column: str) -> Max:
    """The greatest value of `column`."""
    return Max(column)


def avg(column: str) -> Avg:
    """The mean of `column`."""
    return Avg(column)


def variance(column: str, *, population: bool = False) -> Variance:
    """The variance of `column`."""
    return Variance(column, population)


def stddev(column: str, *, population: bool = False) -> StdDev:
    """The standard deviation of `column`."""
    return StdDev(column, population)


def first(column: str) -> First:
    """The value of `column` with the least event time."""
    return First(column)


def last(column: str) -> Last:
    """The value of `column` with the greatest event time."""
    return Last(column)


def any(column: str) -> AnyTrue:
    """Whether a value of `column` is true."""
    return AnyTrue(column)


def all(column: str) -> AllTrue:
    """Whether no value of `column` is false."""
    return AllTrue(column)


def list(column: str, *, by_arrival: bool = False) -> Listed:
    """All values of `column`."""
    return Listed(column, by_arrival)


def median(column: str) -> Quantile:
    """The exact median of `column`."""
    return Quantile(column)


def quantile(column: str, q: float) -> Quantile:
    """The exact quantile `q` of `column`."""
    return Quantile(column, q)


def count_distinct(column: str) -> CountDistinct:
    """How many different values `column` has."""
    return CountDistinct(column)


def top(column: str, n: int, *, by: str | None = None) -> Top:
    """The `n` greatest values of `column`; of structs, by one of their fields."""
    return Top(column, n, by)


def sorted(column: str, *, descending: bool = False) -> Sorted:
    """All values of `column` in order."""
    return Sorted(column, descending)


def distinct(column: str) -> Distinct:
    """The different values of `column`, in order."""
    return Distinct(column)


def mode(column: str) -> Mode:
    """The most frequent value of `column`."""
    return Mode(column)


def join_text(column: str, separator: str = ", ") -> JoinedText:
    """The texts of `column` in one."""
    return JoinedText(column, separator)


def histogram(column: str, edges: Iterable[float]) -> Histogram:
    """How many values of `column` lie below the first edge, between each two, and from the last on."""
    return Histogram(column, tuple(edges))


def _ascend(edges: tuple[float, ...]) -> bool:
    rising = (low < high for low, high in pairwise(edges))
    return builtins.all(map(isfinite, edges)) and builtins.all(rising)
