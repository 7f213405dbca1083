"""Rows by key and time, however far apart the codes of keys are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.routes import rerouted
from fanlight.kernels.sort_key_time import sort_by_key_time

EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**62, 2**63 - 1]


@pytest.mark.parametrize("codes", [st.integers(-3, 3), st.sampled_from(EDGES)], ids=["near", "of 64 bits"])
@pytest.mark.parametrize("first", [1 << 15, 2], ids=["few rows", "many rows"])
@given(data=st.data())
def test_the_order_is_that_of_both_columns(codes: st.SearchStrategy[int], first: int, data: st.DataObject) -> None:
    """Codes of 64 bits are sorted by their first digits; -1 and 0 differ in these, 0 and 1 do not.

    Of many rows the first two are looked at: where they have the same code, codes are numbered first.
    """
    drawn = data.draw(st.lists(st.tuples(codes, st.integers(-3, 3)), min_size=1, max_size=30))
    keys, times = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    with rerouted(first_codes=first):
        found = sort_by_key_time(keys, times)
    expected = np.lexsort([times, keys])
    assert found.order.tolist() == expected.tolist()
    assert found.codes.tolist() == keys[expected].tolist()
    assert found.times.tolist() == times[expected].tolist()
