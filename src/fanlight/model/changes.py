"""A stream of changes, declared: which column says what a record does to the rows before it."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.firing import Op

OPERATIONS = tuple(op.code for op in Op)
"""The operations by their codes: `+I`, `-U`, `+U`, `-D`."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How records change rows: the column of operations, and the columns that tell rows apart.

    >>> Changes("op", unique=("id",)).unique
    ('id',)
    """

    op: str
    """The column that has the operation of each record."""
    unique: tuple[str, ...] = ()
    """The columns that identify a row. Without them a delete takes one row that is equal in all columns."""
    words: tuple[tuple[str, str], ...] = ()
    """What other words in the column mean, as in (('c', '+I'), ('d', '-D')); the codes always mean themselves."""
    consistent: bool = False
    """Whether every delete has its row, and every row that is replaced is deleted first, so that nothing has to be
    looked for: as in the results of a stage that takes them back."""
    timed: bool = False
    """Whether rows with the same unique values have the same time, as the firings of one window have."""

    def __post_init__(self) -> None:
        for word, meaning in self.words:
            if meaning not in OPERATIONS:
                raise SpecError(
                    f"stream: the operation {word!r} is said to mean {meaning!r}, which is none. "
                    f"Use one of {', '.join(OPERATIONS)}."
                )
        if len(set(self.unique)) < len(self.unique):
            raise SpecError(f"stream: `unique` ({', '.join(self.unique)}) names a column twice. Name it once.")
        if self.op in self.unique:
            raise SpecError(
                f"stream: `unique` names {self.op!r}, the column of operations. Name what tells rows apart."
            )
