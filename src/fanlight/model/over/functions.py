"""Functions of a row among those of its key: its number, its rank, the value of a row before or after it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fanlight.errors import SpecError
from fanlight.model.later import LATER
from fanlight.model.time.duration import Duration, DurationLike


@dataclass(frozen=True, slots=True)
class RowFunction:
    """One value for each row; the root of them all. An aggregate over the frame is one too, and no `RowFunction`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns it works on."""
        return ()


@dataclass(frozen=True, slots=True)
class RowNumber(RowFunction):
    """The place of the row among those of its key, from 1."""


@dataclass(frozen=True, slots=True)
class Rank(RowFunction):
    """One more than the number of rows before it; rows of one time have the same rank."""


@dataclass(frozen=True, slots=True)
class DenseRank(RowFunction):
    """The same without gaps: one more than the number of different times before it."""


@dataclass(frozen=True, slots=True)
class PartitionFunction(RowFunction):
    """A function that must know how many rows there are: it needs a partition that ends."""


@dataclass(frozen=True, slots=True)
class PercentRank(PartitionFunction):
    """Which share of the other rows has a lower rank, from 0 to 1; 0 for a row alone."""


@dataclass(frozen=True, slots=True)
class CumeDist(PartitionFunction):
    """Which share of the rows comes before it or is equal to it in the order, above 0 and up to 1."""


@dataclass(frozen=True, slots=True)
class NTile(PartitionFunction):
    """The number of its part, from 1, where the rows are cut into `n` parts that differ by one row at most."""

    n: int

    def __post_init__(self) -> None:
        given: object = self.n
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise SpecError(
                f"ntile: the number of parts ({self.n!r}) must be a whole number from 1 up, as in ntile(4)."
            )


@dataclass(frozen=True, slots=True)
class ColumnFunction(RowFunction):
    """A function that takes the value of another row."""

    column: str
    offset: int = 1
    ignore_nulls: bool = False
    """Whether rows without a value are passed over."""

    def __post_init__(self) -> None:
        word = word_of(self)
        column: object = self.column
        if not isinstance(column, str) or not column:
            raise SpecError(f"{word}: {self.column!r} is no column name. Name one, as in {word}('price').")
        least = 1 if isinstance(self, NthValue) else 0
        offset: object = self.offset
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < least:
            raise SpecError(f"{word}: the number of rows ({self.offset!r}) must be a whole number from {least} up.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


@dataclass(frozen=True, slots=True)
class Lag(ColumnFunction):
    """The value of the row so many before it; null if there is none."""


@dataclass(frozen=True, slots=True)
class Lead(ColumnFunction):
    """The value of the row so many after it; null if there is none."""

    within: Duration | None = field(default=None, metadata=LATER)
    """How long after the row's time that row may be. None: as long as the row is remembered."""

    def __post_init__(self) -> None:
        ColumnFunction.__post_init__(self)
        if self.within is not None and (self.within.micros < 0 or self.within.is_forever):
            raise SpecError(
                f"lead: `within` ({self.within}) must be a duration from 0 up. Leave it out to wait for the next row "
                "for as long as `forget` says."
            )


@dataclass(frozen=True, slots=True)
class NthValue(ColumnFunction):
    """The value of the n-th row of the frame; null if it has fewer."""


@dataclass(frozen=True, slots=True)
class LastValue(ColumnFunction):
    """The value of the last row of the frame; null if it has none."""


def row_number() -> RowNumber:
    """The place of each row among those of its key, from 1.

    >>> row_number()
    RowNumber()
    """
    return RowNumber()


def rank() -> Rank:
    """The rank of each row: rows of one time share one, and leave a gap after it.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 1, "price": 4}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.rows(9), forget="1 h").add(x=fl.rank()).table()["x"].to_pylist()
    [1, 1, 3]
    """
    return Rank()


def dense_rank() -> DenseRank:
    """The rank of each row without gaps.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 1, "price": 4}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.rows(9), forget="1 h").add(x=fl.dense_rank()).table()["x"].to_pylist()
    [1, 1, 2]
    """
    return DenseRank()


def percent_rank() -> PercentRank:
    """The share of the other rows of its partition that have a lower rank: (rank - 1) / (rows - 1), or 0 of one row.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 4}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).over().add(x=fl.percent_rank()).table()["x"].to_pylist()
    [0.0, 0.5, 1.0]
    """
    return PercentRank()


def cume_dist() -> CumeDist:
    """The share of the rows of its partition that come before each row, or are equal to it in the order.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 4}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> sales.window(fl.tumbling("1 min")).over().add(x=fl.cume_dist()).table()["x"].to_pylist()
    [0.3333333333333333, 0.6666666666666666, 1.0]
    """
    return CumeDist()


def ntile(n: int) -> NTile:
    """The part of each row, from 1, where the rows of its partition are cut into `n` parts of one size.

    Where that does not come out even, the first parts have one row more.

    >>> ntile(4)
    NTile(n=4)
    """
    return NTile(n)


def lag(column: str, offset: int = 1, *, ignore_nulls: bool = False) -> Lag:
    """The value of a column in the row before, or `offset` rows before.

    >>> lag("price", 2).offset
    2
    """
    return Lag(column, offset, ignore_nulls)


def lead(column: str, offset: int = 1, *, ignore_nulls: bool = False, within: DurationLike | None = None) -> Lead:
    """The value of a column in the next row, or `offset` rows after: the row waits for it, for `forget` at most.

    With `within` it waits no longer than that: a row that comes later than that after it counts as none.

    >>> lead("price", within="10 s").within
    Duration('10 s')
    """
    return Lead(column, offset, ignore_nulls, None if within is None else Duration.of(within))


def nth_value(column: str, n: int, *, ignore_nulls: bool = False) -> NthValue:
    """The value of a column in the n-th row of the frame, from 1.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 1, "price": 4}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.rows(9), forget="1 h").add(x=fl.nth_value("price", 2)).table()["x"].to_pylist()
    [None, 4, 4]
    """
    return NthValue(column, n, ignore_nulls)


def first_value(column: str, *, ignore_nulls: bool = False) -> NthValue:
    """The value of a column in the first row of the frame.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 1, "price": 4}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.rows(9), forget="1 h").add(x=fl.first_value("price")).table()["x"].to_pylist()
    [3, 3, 3]
    """
    return NthValue(column, 1, ignore_nulls)


def last_value(column: str, *, ignore_nulls: bool = False) -> LastValue:
    """The value of a column in the last row of the frame.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 1, "price": 4}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.rows(9), forget="1 h").add(x=fl.last_value("price")).table()["x"].to_pylist()
    [3, 4, 5]
    """
    return LastValue(column, 1, ignore_nulls)


def word_of(function: RowFunction) -> str:
    """What users call a function.

    >>> word_of(RowNumber())
    'row_number'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(function).__name__).lower()
