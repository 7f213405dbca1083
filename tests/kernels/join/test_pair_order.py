"""The order of pairs is that of their four columns, however they come."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.join.pair_order import pair_order

times = st.lists(st.integers(-3, 3), min_size=1, max_size=8)


@given(times, times, st.data(), st.sampled_from([1, 1_000]))
def test_pairs_are_ordered_by_the_left_row_then_by_the_right(
    lefts: list[int], rights: list[int], data: st.DataObject, apart: int
) -> None:
    """Arrival numbers are close together, or so far apart that they are searched."""
    every = [(left, right) for left in range(len(lefts)) for right in range(len(rights))]
    pairs = data.draw(st.permutations(every))[: data.draw(st.integers(0, len(every)))]
    columns = [
        np.array(column, np.int64)
        for column in (
            [lefts[left] for left, _ in pairs],
            [left * apart for left, _ in pairs],
            [rights[right] for _, right in pairs],
            [right for _, right in pairs],
        )
    ]
    assert pair_order(*columns).tolist() == np.lexsort(columns[::-1]).tolist()
