"""Panes as a table: what changes in one is not seen in another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fanlight.kernels.aggregates.aggregation import Partials
from fanlight.operators.window.firing.pane_table import PaneTable


def panes(pending: list[int]) -> PaneTable:
    count = len(pending)
    partials = Partials(np.ones(count, np.int64), None, [])
    return PaneTable(np.arange(count), [pa.array(range(count))], {"pending": np.array(pending, np.int64)}, partials, [])


@pytest.mark.parametrize("mask", [[True, True, True], [True, False, True], [False, False, False]])
def test_panes_that_are_kept_are_a_copy_even_if_they_are_all(mask: list[bool]) -> None:
    """A trigger counts in place. Counting in the panes that are kept leaves the others, and those they came from."""
    table = panes([5, 6, 7])
    kept = table.where(np.array(mask))
    kept.state["pending"] += 1
    assert table.state["pending"].tolist() == [5, 6, 7]
    assert kept.state["pending"].tolist() == [n + 1 for n, is_kept in zip([5, 6, 7], mask, strict=True) if is_kept]


def test_new_panes_stand_after_those_that_are_there() -> None:
    joined = PaneTable.concat([panes([5, 6]), panes([]), panes([7])])
    assert (joined.windows.tolist(), joined.state["pending"].tolist()) == ([0, 1, 0], [5, 6, 7])
