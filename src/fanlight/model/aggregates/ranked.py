"""The rows of a pane that are greatest in some columns: what `top` is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.how_many import require_how_many
from fanlight.model.order_by import OrderBy

TopBy = str | OrderBy | Sequence[str | OrderBy]
"""What a top goes by: a column, of which the greatest come first, `asc` of one, or several of these."""


@dataclass(frozen=True, slots=True)
class TopRows(Aggregate):
    """The first `n` of a column of structs, in the order of some of their fields.

    Structs that are equal in these stand in ascending order of their other fields, so arrival order never matters. A
    partial has `n` of them at most, however many records there were.

    >>> TopRows("record", 3, top_order("price"))
    TopRows(column='record', n=3, order=(OrderBy(column='price', descending=True),))
    """

    n: int = 10
    order: tuple[OrderBy, ...] = ()

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        require_how_many("top", self.n, "top(10, by='price')")
        if not self.order:
            raise SpecError("top: nothing is named to go by. Name a column, as in top(10, by='price').")
        names = [one.column for one in self.order]
        for name in names:
            if names.count(name) > 1:
                raise SpecError(f"top: `by` names the column {name!r} twice, without effect. Name it once.")


def top_order(by: TopBy) -> tuple[OrderBy, ...]:
    """The order that a top goes by: the greatest first, unless `asc` says otherwise.

    >>> from fanlight.model.order_by import asc
    >>> top_order(("price", asc("id")))
    (OrderBy(column='price', descending=True), OrderBy(column='id', descending=False))
    """
    given: object = by
    if not isinstance(given, str | OrderBy | Sequence):
        raise SpecError(f"top: `by` ({by!r}) is no column. Use a name, asc('price') for the least first, or several.")
    columns: Sequence[object] = [by] if isinstance(by, str | OrderBy) else by
    for one in columns:
        column = one.column if isinstance(one, OrderBy) else one
        if not isinstance(column, str) or not column:
            raise SpecError(f"top: `by` has {one!r}, which is no column. Use names, or asc('price').")
    return tuple(one if isinstance(one, OrderBy) else OrderBy(str(one), descending=True) for one in columns)
