"""The dead letters of a run, kept for reading: all of them, or only the newest in a run that may never end."""

from __future__ import annotations

import warnings

import pyarrow as pa

from fanlight.errors import FanlightWarning

NEWEST = 10_000
"""How many letters a run keeps while somebody iterates over it."""
_PIECES = 1_000
"""A table of one letter costs as much as one of a hundred: this many tables are joined into one."""


class KeptLetters:
    """Keeps the letters of every step. With `bounded` it drops the oldest, and warns once."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._rows = 0
        self.let_go = 0

    def add(self, letters: pa.Table, *, bounded: bool) -> None:
        """Keep the letters of a step, after those before."""
        if len(letters) or not self._tables:
            self._tables.append(letters)
            self._rows += len(letters)
        if bounded:
            self._bound()

    def table(self) -> pa.Table:
        """The kept letters, the oldest first."""
        if not self._tables:
            return pa.table({})
        newest = self._tables[-1].schema  # a column without a value may have got its type since
        return pa.concat_tables(table.cast(newest) if len(table) else newest.empty_table() for table in self._tables)

    @property
    def pieces(self) -> int:
        """How many tables they lie in."""
        return len(self._tables)

    def _bound(self) -> None:
        while self._rows - len(self._tables[0]) >= NEWEST:
            self._let_go(len(self._tables.pop(0)))
        if len(self._tables) == 1 and self._rows > NEWEST:
            self._let_go(excess := self._rows - NEWEST)
            self._tables = [self._tables[0].take(pa.array(range(excess, excess + NEWEST)))]  # a slice would keep all
        if len(self._tables) > _PIECES:
            self._tables = [self.table().combine_chunks()]

    def _let_go(self, letters: int) -> None:
        if not self.let_go:
            warnings.warn(
                f"More than {NEWEST:,} dead letters: while you iterate over a result only the newest are kept. "
                "Hand them all to a function with result.on_dead_letters(function). This warning is given once.",
                FanlightWarning,
                stacklevel=2,
            )
        self.let_go += letters
        self._rows -= letters
