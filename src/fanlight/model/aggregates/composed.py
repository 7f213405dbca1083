"""Several aggregates as one: a struct with a field for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate


@dataclass(frozen=True, slots=True)
class Composite(Aggregate):
    """A struct of several aggregates; each sees its own columns and keeps its own rules."""

    parts: tuple[tuple[str, Aggregate], ...] = ()
    takes: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if self.column is not None:
            raise SpecError(
                f"Composite: `column` ({self.column!r}) belongs to its parts. Use composite(n=count({self.column!r}))."
            )
        names = [name for name, _ in self.parts]
        if not names or len(set(names)) < len(names):
            raise SpecError(
                f"Composite: `parts` ({', '.join(names) or 'none'}) must be at least one, each with a name of its own. "
                "Use composite(n=count(), total=sum('price'))."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all parts, each once."""
        return tuple(dict.fromkeys(name for _, part in self.parts for name in part.columns))

    @property
    def heeds_arrival(self) -> bool:
        """Whether it matters to one of the parts."""
        return any(part.heeds_arrival for _, part in self.parts)

    @property
    def needs_messages(self) -> bool:
        """Whether one of the parts needs them."""
        return any(part.needs_messages for _, part in self.parts)

    @property
    def needs_complete_panes(self) -> bool:
        """Whether one of the parts needs them."""
        return any(part.needs_complete_panes for _, part in self.parts)

    @property
    def needs_whole_records(self) -> bool:
        """Whether one of the parts works on them."""
        return any(part.needs_whole_records for _, part in self.parts)


def composite(**aggregates: Aggregate) -> Composite:
    """One struct of several aggregates: `composite(least=min("price"), greatest=max("price"))`.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> prices = fl.composite(least=fl.min("price"), greatest=fl.max("price"))
    >>> sales.window(fl.tumbling("1 min")).agg(x=prices).table()["x"].to_pylist()
    [{'least': 3, 'greatest': 5}]
    """
    return Composite(parts=tuple(aggregates.items()))
