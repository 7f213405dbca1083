"""Pairs of wanted ranges and rows: every one of them, once, in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.join.probe import matches

numbers = st.integers(-4, 4)
rows = st.lists(st.tuples(numbers, numbers), max_size=20).map(sorted)
ranges = st.lists(st.tuples(numbers, numbers, st.integers(-1, 5)), max_size=12).map(sorted)


def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


@given(rows, ranges)
def test_all_pairs_are_found_once_and_in_order(some: list[tuple[int, int]], wanted: list[tuple[int, int, int]]) -> None:
    """A range may be empty, which is written with its end before its start."""
    expected = [
        (place, row)
        for place, (code, low, length) in enumerate(wanted)
        for row, (key, time) in enumerate(some)
        if key == code and low <= time <= low + length
    ]
    codes, times = ints([key for key, _ in some]), ints([time for _, time in some])
    of, low = ints([code for code, _, _ in wanted]), ints([start for _, start, _ in wanted])
    found = matches(codes, times, of, low, low + ints([length for _, _, length in wanted]))
    assert [*zip(*(part.tolist() for part in found), strict=True)] == expected


def test_no_rows_or_no_ranges_have_no_pairs() -> None:
    none, one = ints([]), ints([3])
    assert [len(part) for part in matches(none, none, one, one, one)] == [0, 0]
    assert [len(part) for part in matches(one, one, none, none, none)] == [0, 0]


def test_one_hot_key_gives_every_pair() -> None:
    """A thousand ranges over a thousand rows of one key: a million pairs."""
    zeros, times = np.zeros(1_000, np.int64), np.arange(1_000)
    places, found = matches(zeros, times, zeros, np.full(1_000, -1), np.full(1_000, 1_000))
    assert len(places) == 1_000_000
    assert found[:1_000].tolist() == times.tolist()
