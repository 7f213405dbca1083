"""Rows compared as wholes: equal ones are one group, and each is counted among its like."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.row_identity import places_within, same_rows


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=12))
def test_rows_are_compared_as_wholes(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 2)
    groups, samples = same_rows(table[:, 0], table[:, 1])
    distinct = sorted(set(rows))
    assert groups.codes.tolist() == [distinct.index(row) for row in rows]
    assert [rows[place] for place in samples.tolist()] == distinct
    firsts = [first for first, _ in rows]
    assert places_within(table[:, 0]).tolist() == [firsts[:i].count(first) for i, first in enumerate(firsts)]
