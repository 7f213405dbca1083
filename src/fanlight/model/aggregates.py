"""What is computed over a pane: the declarations. `kernels.reducers` computes them.

Incremental ones keep a small partial for each pane. Those that need the messages keep the records.
Nulls are ignored as in SQL: an aggregate over no value is null, a count is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fanlight.errors import SpecError


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value for each pane, from one column; the root of them all."""

    column: str | None = None
    needs_messages: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.column is None and not isinstance(self, Count):
            raise SpecError(f"{type(self).__name__}: needs a column to work on. Name it, as in sum('price').")


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """How many records, or how many non-null values of a column."""


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
    needs_messages: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """The exact quantile, linear between the two values around it."""

    q: float = 0.5
    needs_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if not 0 <= self.q <= 1:
            raise SpecError(f"Quantile: `q` ({self.q}) must be from 0 to 1. Use 0.5 for the median.")


@dataclass(frozen=True, slots=True)
class CountDistinct(Aggregate):
    """How many different non-null values, exactly."""

    needs_messages: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Top(Aggregate):
    """The `n` greatest values, greatest first; of structs, those greatest in the field `by`.

    Structs that are equal in `by` stand in ascending order of their other fields, so arrival order never matters.
    """

    n: int = 10
    by: str | None = None
    needs_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if self.n < 1:
            raise SpecError(
                f"Top: `n` ({self.n}) must be at least 1; a list of none says nothing. Use top('price', 10)."
            )


@dataclass(frozen=True)
class UserAggregate(Aggregate):
    """An aggregate of one's own: subclass, name the two Arrow types, write four methods.

    `state_type` and `output_type` are Arrow types, so that state is stored as columns, never pickled. The
    row-wise form is `zero`, `add`, `merge`, `finish`. The vectorised one is `add_batch(states, values, groups, count)`:
    it gets one fresh state for each group, all values and each value's group, and returns the new states. `retraction`
    may say what a row that takes a value back carries.
    """

    state_type: ClassVar[Any] = None
    output_type: ClassVar[Any] = None

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        for name in ("state_type", "output_type"):
            if getattr(self, name) is None:
                raise SpecError(
                    f"{type(self).__name__}: `{name}` is missing. Set it to an Arrow type, such as pyarrow.float64()."
                )

    def zero(self) -> Any:
        """The state of a pane that has seen nothing."""
        raise SpecError(f"{type(self).__name__}: `zero` is missing. Return the state of an empty pane.")

    def add(self, state: Any, value: Any) -> Any:
        """The state after one more value."""
        raise SpecError(f"{type(self).__name__}: `add` is missing. Return the state after one more value.")

    def merge(self, left: Any, right: Any) -> Any:
        """The state of two panes together."""
        raise SpecError(f"{type(self).__name__}: `merge` is missing. Return the state of both together.")

    def finish(self, state: Any) -> Any:
        """The result of a state."""
        raise SpecError(f"{type(self).__name__}: `finish` is missing. Return the result of a state.")

    def retraction(self, value: Any) -> Any:
        """What a retracting row carries to take `value` back: the value itself, unless a subclass says otherwise."""
        return value


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
