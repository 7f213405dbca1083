"""Rows in the order of their times, and where they are cut."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.sort_time import cut_at_times, sort_by_time

times = st.lists(st.integers(0, 8) | st.integers(-(2**62), 2**62), max_size=50)


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=50))
def test_the_order_is_that_of_a_stable_sort(rows: list[tuple[int, int | None, str]]) -> None:
    ties = [pa.array([row[1] for row in rows], pa.int64()), pa.array([row[2] for row in rows], pa.string())]
    order = sort_by_time(np.array([row[0] for row in rows], np.int64), ties).tolist()
    assert order == sorted(
        range(len(rows)), key=lambda i: (rows[i][0], rows[i][1] is None, rows[i][1] or 0, rows[i][2])
    )


@given(times=times)
def test_times_as_far_apart_as_they_can_be(times: list[int]) -> None:
    """However the numbers are packed while they are sorted."""
    order = sort_by_time(np.array(times, np.int64), []).tolist()
    assert order == sorted(range(len(times)), key=lambda i: times[i])


@given(times=times, rows=st.integers(1, 20))
def test_pieces_hold_whole_times_and_enough_rows(times: list[int], rows: int) -> None:
    """A piece has fewer rows than asked only where the rows of one time, in another piece, have more."""
    ordered = np.sort(np.array(times, np.int64))
    bounds = cut_at_times(ordered, rows).tolist()
    pieces = [ordered[start:end].tolist() for start, end in pairwise(bounds)]
    assert [time for piece in pieces for time in piece] == ordered.tolist()
    assert all(pieces)
    assert all(left[-1] < right[0] for left, right in pairwise(pieces))
    assert len(pieces) <= max(len(times) // rows, 1)
    most_equal = max((times.count(time) for time in times), default=0)
    assert all(len(piece) <= 2 * rows + most_equal for piece in pieces)
