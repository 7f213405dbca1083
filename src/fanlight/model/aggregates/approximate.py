"""Approximate aggregates: they keep a sketch of bounded size instead of the values.

The same records in the same bundles give the same sketch, byte for byte: no random numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.how_many import require_how_many


@dataclass(frozen=True, slots=True)
class ApproxCountDistinct(Aggregate):
    """How many different non-null values, nearly: exact for few, within a few percent for many."""


@dataclass(frozen=True, slots=True)
class ApproxQuantile(Aggregate):
    """The value at place `q * n` in order, nearly; exactly among a few hundred. NaN is the greatest."""

    q: float = 0.5

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if not 0 <= self.q <= 1:
            raise SpecError(f"ApproxQuantile: `q` ({self.q}) must be from 0 to 1. Use 0.5 for the median.")


@dataclass(frozen=True, slots=True)
class HeavyHitters(Aggregate):
    """The `n` most frequent values and how often they came, nearly; most frequent first."""

    n: int = 10

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        require_how_many("HeavyHitters", self.n, "heavy_hitters('product', 10)")


def approx_count_distinct(column: str) -> ApproxCountDistinct:
    """How many different values `column` has, nearly.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.approx_count_distinct("price")).table()["x"].to_pylist()
    [2]
    """
    return ApproxCountDistinct(column)


def approx_quantile(column: str, q: float) -> ApproxQuantile:
    """The quantile `q` of `column`, nearly.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.approx_quantile("price", 0.5)).table()["x"].to_pylist()
    [5.0]
    """
    return ApproxQuantile(column, q)


def heavy_hitters(column: str, n: int) -> HeavyHitters:
    """The `n` most frequent values of `column`, nearly.

    >>> import fanlight as fl
    >>> sales = [{"ts": 1, "who": "ada"}, {"ts": 2, "who": "bob"}, {"ts": 3, "who": "ada"}]
    >>> windows = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(x=fl.heavy_hitters("who", 1)).table()["x"].to_pylist()
    [[{'value': 'ada', 'count': 2}]]
    """
    return HeavyHitters(column, n)
