"""The last row before a time and the first after it: of its key, in its bounds, and of several at one time the last."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.groups import Ints
from fanlight.kernels.join.nearest import earliest_rows, last_rows

numbers = st.integers(-4, 4)
rows = st.lists(st.tuples(numbers, numbers), max_size=20).map(sorted)
ranges = st.lists(st.tuples(numbers, numbers, st.integers(-1, 5)), max_size=12).map(sorted)


def ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


@pytest.mark.parametrize("far", [1, 1 << 60], ids=["near codes", "codes of 64 bits"])
@given(some=rows, wanted=ranges)
def test_the_row_that_a_search_of_all_of_them_finds(
    far: int, some: list[tuple[int, int]], wanted: list[tuple[int, int, int]]
) -> None:
    codes, times = ints([key * far for key, _ in some]), ints([time for _, time in some])
    of, low = ints([code * far for code, _, _ in wanted]), ints([start for _, start, _ in wanted])
    high = low + ints([length for _, _, length in wanted])
    last, first = [], []
    for code, start, length in wanted:
        inside = [row for row, (key, time) in enumerate(some) if key == code and start <= time <= start + length]
        last.append(max(inside, default=-1))
        earliest = min((some[row][1] for row in inside), default=None)
        first.append(max((row for row in inside if some[row][1] == earliest), default=-1))
    assert last_rows(codes, times, of, low, high).tolist() == last
    assert earliest_rows(codes, times, of, low, high).tolist() == first
