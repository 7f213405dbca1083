"""The root of all aggregates: the columns it reads, and whether it needs the messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanlight.errors import SpecError


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value for each pane, from one column or several; the root of them all.

    Where it works on several columns, what computes it gets them as one column of structs.

    >>> import fanlight as fl
    >>> isinstance(fl.sum("price"), fl.Aggregate)
    True
    """

    column: str | None = None
    takes: ClassVar[int] = 1
    """How many columns it needs at least."""
    of_messages: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self.columns) < self.takes:
            many = "a column" if self.takes == 1 else f"{self.takes} columns"
            example = "sum('price')" if self.takes == 1 else "arg_max('product', by='price')"
            raise SpecError(f"{type(self).__name__}: needs {many} to work on. Name it, as in {example}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns it works on, in the order in which they are handed over."""
        return () if self.column is None else (self.column,)

    @property
    def heeds_arrival(self) -> bool:
        """Whether the order in which records came matters to it."""
        return False

    @property
    def retracts_otherwise(self) -> bool:
        """Whether a row that takes a value back carries another one, as a user's own class may say."""
        return False

    @property
    def needs_messages(self) -> bool:
        """Whether it is computed from the records themselves, so that they must be kept."""
        return self.of_messages

    @property
    def needs_complete_panes(self) -> bool:
        """Whether it is computed once for a pane, when all of its records are there."""
        return False

    @property
    def needs_whole_records(self) -> bool:
        """Whether it works on whole records, whatever columns they have."""
        return False
