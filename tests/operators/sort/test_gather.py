"""Rows of several batches in a new order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.operators.sort.gather import gather, joined

SCHEMA = pa.schema({"n": pa.int64()})


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=5), data=st.data())
def test_the_rows_are_those_of_all_batches_joined(sizes: list[int], data: st.DataObject) -> None:
    """Row i of all batches is i."""
    bounds = np.cumsum([0, *sizes]).tolist()
    batches = [pa.record_batch({"n": np.arange(start, end)}) for start, end in pairwise(bounds)]
    order = data.draw(st.lists(st.integers(0, sum(sizes) - 1), max_size=12)) if sum(sizes) else []
    assert gather(batches, np.array(order, np.int64)).column("n").to_pylist() == order


def test_no_chunks_are_one_batch_without_rows() -> None:
    assert [len(batch) for batch in joined([], SCHEMA)] == [0]
