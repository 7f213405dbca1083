"""Aggregates over one column that look at all of its values: lists, quantiles, ranks, what is different."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.how_many import require_how_many


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
        require_how_many("Top", self.n, "top('price', 10)")


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


def list(column: str, *, by_arrival: bool = False) -> Listed:
    """All values of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.list("price")).table()["x"].to_pylist()
    [[3, 5, 5]]
    """
    return Listed(column, by_arrival)


def median(column: str) -> Quantile:
    """The exact median of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.median("price")).table()["x"].to_pylist()
    [5.0]
    """
    return Quantile(column)


def quantile(column: str, q: float) -> Quantile:
    """The exact quantile `q` of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.quantile("price", 0.25)).table()["x"].to_pylist()
    [3.5]
    """
    return Quantile(column, q)


def count_distinct(column: str) -> CountDistinct:
    """How many different values `column` has.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.count_distinct("price")).table()["x"].to_pylist()
    [2]
    """
    return CountDistinct(column)


def top(column: str, n: int, *, by: str | None = None) -> Top:
    """The `n` greatest values of `column`; of structs, by one of their fields.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.top("price", 2)).table()["x"].to_pylist()
    [[5, 5]]
    """
    return Top(column, n, by)


def sorted(column: str, *, descending: bool = False) -> Sorted:
    """All values of `column` in order.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.sorted("price", descending=True)).table()["x"].to_pylist()
    [[5, 5, 3]]
    """
    return Sorted(column, descending)


def distinct(column: str) -> Distinct:
    """The different values of `column`, in order.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.distinct("price")).table()["x"].to_pylist()
    [[3, 5]]
    """
    return Distinct(column)


def mode(column: str) -> Mode:
    """The most frequent value of `column`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.mode("price")).table()["x"].to_pylist()
    [5]
    """
    return Mode(column)


def join_text(column: str, separator: str = ", ") -> JoinedText:
    """The texts of `column` in one.

    >>> import fanlight as fl
    >>> sales = [{"ts": 1, "who": "ada"}, {"ts": 2, "who": "bob"}, {"ts": 3, "who": "ada"}]
    >>> windows = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(x=fl.join_text("who", "+")).table()["x"].to_pylist()
    ['ada+bob+ada']
    """
    return JoinedText(column, separator)


def histogram(column: str, edges: Iterable[float]) -> Histogram:
    """How many values of `column` lie below the first edge, between each two, and from the last on.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.histogram("price", [4, 10])).table()["x"].to_pylist()
    [[1, 2, 0]]
    """
    return Histogram(column, tuple(edges))


def _ascend(edges: tuple[float, ...]) -> bool:
    rising = (low < high for low, high in pairwise(edges))
    return builtins.all(map(isfinite, edges)) and builtins.all(rising)
