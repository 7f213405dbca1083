"""Panes of a tumbling window as a table, with the state that a test gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.operators.window.firing.pane_table import OWN, PaneTable


def panes(
    count: int, *, content: list[int] | None = None, keys: list[Any] | None = None, **state: list[Any]
) -> PaneTable:
    """So many panes; `content` is how many records each holds, one if it is not said, and the rest as in new ones."""
    columns = {name: np.full(count, value, dtype) for name, (dtype, value) in OWN.items()}
    held = np.array([1] * count if content is None else content, np.int64)
    given = {name: np.array(column) for name, column in state.items()}
    assert given.keys() <= columns.keys()
    names = pa.array(list(range(count)) if keys is None else keys)
    return PaneTable(np.arange(count), [names], columns | given, Partials(held, None, []), [])
