"""What a user gave to a word of a pipeline, checked: aggregates by name, and names of columns."""

from __future__ import annotations

from collections.abc import Mapping

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate


def checked(aggregates: Mapping[str, Aggregate]) -> tuple[tuple[str, Aggregate], ...]:
    """Aggregates by name, as a spec has them."""
    given: Mapping[str, object] = aggregates
    for name, aggregate in given.items():
        if not isinstance(aggregate, Aggregate):
            called = " It is a function: call it." if callable(aggregate) else ""
            raise SpecError(
                f"agg: {name}={aggregate!r} is not an aggregate.{called} Use one, as in {name}=sum('price')."
            )
    return tuple(aggregates.items())


def checked_columns(word: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that were given to `word`, each a name."""
    given: tuple[object, ...] = columns
    for column in given:
        if not isinstance(column, str):
            listed = ", ".join(map(repr, column)) if isinstance(column, list | tuple) else "'product'"
            raise SpecError(
                f"{word}: {column!r} is a {type(column).__name__}, not the name of a column. Write {word}({listed})."
            )
    return columns
