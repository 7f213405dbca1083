"""From panes that fire to rows: in which order they leave, with which operation, and what is taken back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fanlight.model.firing import Accumulation, Op, Timing
from fanlight.operators.window.firing.changelog import firing_rows, in_order
from fanlight.operators.window.firing.rows import Firings

from .panes import panes


def rows(accumulation: Accumulation) -> Firings:
    """Pane 0 of key b fires for the third time, late; pane 1 of key a for the first, early. Both end at 20."""
    table = panes(2, keys=["b", "a"], index=[2, 0], revision=[1, 0])
    bounds = np.array([10, 10]), np.array([20, 20])
    before, values = [pa.array([7, None])], [pa.array([8, 9])]
    timing = np.array([Timing.LATE, Timing.EARLY])
    return firing_rows(table, bounds, before, values, np.array([19, 19]), timing, np.array([True, False]), accumulation)


@pytest.mark.parametrize(
    ("accumulation", "found"),
    [
        (Accumulation.DISCARDING, [("a", "+I", 9), ("b", "+I", 8)]),
        (Accumulation.ACCUMULATING, [("a", "+I", 9), ("b", "+U", 8)]),
        (Accumulation.RETRACTING, [("a", "+I", 9), ("b", "-U", 7), ("b", "+U", 8)]),
    ],
)
def test_the_operation_of_a_row(accumulation: Accumulation, found: list[tuple[str, str, int]]) -> None:
    """a is first by its key. Only what has left before is updated, and only retracting takes it back, just before."""
    left = rows(accumulation)
    codes = [tuple(Op)[op].code for op in left.ops.tolist()]
    assert list(zip(left.keys[0].to_pylist(), codes, left.values[0].to_pylist(), strict=True)) == found


def test_a_row_that_takes_back_has_the_numbers_of_the_one_that_follows_it() -> None:
    left = rows(Accumulation.RETRACTING)
    assert left.numbers.tolist() == [0, 2, 2]
    assert left.revisions.tolist() == [-1, 1, 1]
    assert left.is_last.tolist() == [False, True, True]
    assert left.times.tolist() == [19, 19, 19]


def test_rows_leave_by_end_then_start_then_key_null_last() -> None:
    starts, ends = np.array([0, 5, 0, 0, 0, 1]), np.array([9, 9, 9, 8, 9, 9])
    keys = [pa.array(["b", "a", None, "z", "a", "a"])]
    assert in_order(starts, ends, keys).tolist() == [3, 4, 0, 2, 5, 1]


def test_where_few_windows_end_together_the_order_is_the_same() -> None:
    """Of ten rows two end at 3; the others are alone."""
    ends = np.array([9, 8, 7, 6, 5, 4, 3, 3, 2, 1])
    keys = [pa.array(list("jihgfezacb"))]
    assert in_order(np.zeros(10, np.int64), ends, keys).tolist() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def test_without_keys_a_window_is_one_row() -> None:
    assert in_order(np.array([5, 0]), np.array([15, 10]), []).tolist() == [1, 0]
