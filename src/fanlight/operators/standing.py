"""How a shard stands between two steps."""

from __future__ import annotations

from typing import Any, NamedTuple

from fanlight.operators.accounting import Books
from fanlight.operators.operator import BoundSpec


class Standing(NamedTuple):
    """The state of a shard between two steps, besides its chunks."""

    bound: BoundSpec | None
    books: Books | None
    steps: int
    """How many steps have been committed."""
    heard: dict[str, Any]
    letters: int
    rows: int
    ended: bool
