"""The product of several lists, group by group, against nested loops."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.join.products import products


@given(st.integers(1, 4).flatmap(lambda lists: st.lists(st.lists(st.integers(0, 3), min_size=lists, max_size=lists))))
def test_every_entry_of_a_list_meets_every_entry_of_the_others(sizes: list[list[int]]) -> None:
    expected = [
        (group, *entry) for group, counts in enumerate(sizes) for entry in product(*(range(count) for count in counts))
    ]
    lists = len(sizes[0]) if sizes else 1
    groups, entries = products([np.array([counts[one] for counts in sizes], np.int64) for one in range(lists)])
    assert list(zip(groups.tolist(), *(entry.tolist() for entry in entries), strict=True)) == expected
