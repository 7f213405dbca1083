"""How many windows records missed. Windows are thirty long and start every ten: a record at 25 is in three.

window 0  [0--------30)      window -2 is [-20, 10), and so on
window 1      [10-------40)
window 2           [20------50)
"""

from __future__ import annotations

import numpy as np
import pytest

import fanlight as fl
from fanlight.kernels.slicing.of_kind import slicing_of
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, NO_WINDOW
from fanlight.operators.window.missed_windows import missed_by_rows, missed_windows

SLICING = slicing_of(fl.hopping("30 us", every="10 us"), fl.Semantics())


def at(*times: int) -> np.ndarray:
    return SLICING.slices(np.array(times))


@pytest.mark.parametrize(("expired", "missed"), [(NO_WINDOW, 0), (-1, 0), (0, 1), (1, 2), (2, 3), (EVERY_WINDOW, 3)])
def test_a_record_misses_those_of_its_windows_that_have_expired(expired: int, missed: int) -> None:
    assert missed_windows(SLICING, at(25), np.array([expired])) == missed


def test_the_misses_of_all_records_add_up() -> None:
    """Window 1 and before have expired: 25 misses two, 15 all three (-1, 0 and 1), 45 none."""
    assert missed_windows(SLICING, at(25, 15, 45), np.array([1])) == 5


def test_each_record_can_have_come_at_a_watermark_of_its_own() -> None:
    assert missed_windows(SLICING, at(25, 25), np.array([0, 2])) == 1 + 3


def test_the_dead_have_missed_all_their_windows() -> None:
    """Where a record's own time decides, it is dead though its windows have not expired."""
    assert missed_windows(SLICING, at(25, 25), np.array([0]), np.array([True, False])) == 3 + 1


def test_a_row_that_stands_for_several_records_counts_for_each() -> None:
    assert missed_by_rows(SLICING, at(25, 45), np.array([4, 9]), 1) == 2 * 4


def test_nothing_came_nothing_was_missed() -> None:
    assert missed_windows(SLICING, at(), np.array([5])) == missed_by_rows(SLICING, at(), at(), 5) == 0
