"""Aggregates over two columns, such as a value and its weight.

A record counts only where neither column is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.how_many import require_how_many


@dataclass(frozen=True, slots=True)
class WeightedAvg(Aggregate):
    """The mean of the values, each counted as often as its weight says; null if the weights add up to 0."""

    weight: str | None = None
    takes: ClassVar[int] = 2

    @property
    def columns(self) -> tuple[str, ...]:
        """The values, the weights."""
        return _named(self.column, self.weight)


@dataclass(frozen=True, slots=True)
class ArgMin(Aggregate):
    """The value of the record that is least in `by`; of several, the least value, so arrival order never matters."""

    by: str | None = None
    takes: ClassVar[int] = 2

    @property
    def columns(self) -> tuple[str, ...]:
        """The values, and what they go by."""
        return _named(self.column, self.by)


@dataclass(frozen=True, slots=True)
class ArgMax(Aggregate):
    """The value of the record that is greatest in `by`; of several, the greatest value."""

    by: str | None = None
    takes: ClassVar[int] = 2

    @property
    def columns(self) -> tuple[str, ...]:
        """The values, and what they go by."""
        return _named(self.column, self.by)


@dataclass(frozen=True, slots=True)
class TopByKey(Aggregate):
    """One value a key, then the `n` greatest of them, greatest first: structs of the key and the value.

    The value of a key is its last by event time; of several at that time, the greatest. Keys with equal values stand in
    ascending order.
    """

    key: str | None = None
    n: int = 10
    takes: ClassVar[int] = 2

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        require_how_many("TopByKey", self.n, "top_by_key('product', 'price', 10)")
        if self.key == self.column:
            raise SpecError(
                f"TopByKey: key and value are both `{self.key}`, so no value could replace another. "
                f"Use distinct({self.key!r}) or top({self.key!r}, {self.n})."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys, the values."""
        return _named(self.key, self.column)


def weighted_avg(value: str, weight: str) -> WeightedAvg:
    """The mean of `value`, weighted by `weight`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3, "pieces": 3}, {"ts": 2, "price": 7, "pieces": 1}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).agg(x=fl.weighted_avg("price", "pieces")).table()["x"].to_pylist()
    [4.0]
    """
    return WeightedAvg(value, weight)


def arg_min(value: str, by: str) -> ArgMin:
    """The `value` of the record that is least in `by`.

    >>> import fanlight as fl
    >>> sales = [{"ts": 1, "who": "ada", "price": 3}, {"ts": 2, "who": "bob", "price": 5}]
    >>> windows = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(x=fl.arg_min("who", by="price")).table()["x"].to_pylist()
    ['ada']
    """
    return ArgMin(value, by)


def arg_max(value: str, by: str) -> ArgMax:
    """The `value` of the record that is greatest in `by`.

    >>> import fanlight as fl
    >>> sales = [{"ts": 1, "who": "ada", "price": 3}, {"ts": 2, "who": "bob", "price": 5}]
    >>> windows = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(x=fl.arg_max("who", by="price")).table()["x"].to_pylist()
    ['bob']
    """
    return ArgMax(value, by)


def top_by_key(key: str, value: str, n: int) -> TopByKey:
    """The `n` greatest of the last `value` of each `key`.

    >>> import fanlight as fl
    >>> sales = [{"ts": 1, "who": "ada", "price": 3}, {"ts": 2, "who": "bob", "price": 5}]
    >>> windows = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min"))
    >>> windows.agg(x=fl.top_by_key("who", "price", 1)).table()["x"].to_pylist()
    [[{'who': 'bob', 'price': 5}]]
    """
    return TopByKey(value, key, n)


def _named(*columns: str | None) -> tuple[str, ...]:
    return tuple(name for name in columns if name is not None)
