"""Prefix and suffix merges of a column in blocks: any range of rows is one suffix and one prefix.

At height h the rows lie in blocks of 2**h. `prefix` holds each row merged with those before it in its block, `suffix`
with those after it:

    rows      a   b   c   d │ e   f   g   h       height 2
    suffix    ad  bd  cd  d │ eh  fh  gh  h
    prefix    a   ab  ac  ad│ e   ef  eg  eh
    range         [b ─────────── f]               = suffix(b) + prefix(f)

A range that begins in one block and ends in the next is one merge of two rows. Blocks are merged into higher ones in
place, in one pass however many heights it climbs. Nothing is ever subtracted, so floats lose no digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NARROW = 5
"""Up to blocks of 2**5 one pass a place in the block is faster than one loop a block."""


class Scans:
    """The scans of one column, climbing from single rows to higher blocks."""

    def __init__(self, column: NDArray[Any], ufunc: np.ufunc, highest: int) -> None:
        """`highest` is the greatest height that will be asked for."""
        room = -(-len(column) >> highest) << highest
        self._ufunc = ufunc
        self._height = 0
        # The padding of the last block enters no range: a range begins in a block that is full.
        self.prefix = np.zeros(room, column.dtype)
        self.prefix[: len(column)] = column
        self.suffix = self.prefix.copy()

    def climb(self, height: int) -> None:
        """Merge blocks until they have 2**height rows; heights never go down."""
        if self._height < min(height, _NARROW):
            self._join(min(height, _NARROW))
        if self._height < height:
            self._join(height)

    def _join(self, height: int) -> None:
        size, parts = 1 << self._height, 1 << (height - self._height)
        prefix = self.prefix.reshape(-1, parts, size)
        suffix = self.suffix.reshape(-1, parts, size)
        if height <= _NARROW:
            self._join_by_places(prefix, suffix)
        else:
            self._join_by_blocks(prefix, suffix)
        self._height = height

    def _join_by_places(self, prefix: NDArray[Any], suffix: NDArray[Any]) -> None:
        merge = self._ufunc
        _, parts, size = prefix.shape
        for part in range(1, parts):
            before, after = prefix[:, part - 1, -1], suffix[:, parts - part, 0]
            for place in range(size):
                merge(before, prefix[:, part, place], out=prefix[:, part, place])
                merge(suffix[:, parts - part - 1, place], after, out=suffix[:, parts - part - 1, place])

    def _join_by_blocks(self, prefix: NDArray[Any], suffix: NDArray[Any]) -> None:
        merge = self._ufunc
        before = merge.accumulate(prefix[:, :-1, -1], axis=1)
        merge(before[:, :, None], prefix[:, 1:], out=prefix[:, 1:])
        after = merge.accumulate(suffix[:, :0:-1, 0], axis=1)[:, ::-1]
        merge(suffix[:, :-1], after[:, :, None], out=suffix[:, :-1])
