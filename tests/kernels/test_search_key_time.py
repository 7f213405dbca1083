"""Sorting by key and time, merging what is sorted, and finding the rows of windows: against plain Python."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.routes import rerouted
from fanlight.kernels.search_key_time import first_rows, one_line, searched, window_rows
from fanlight.kernels.sort_key_time import merge_sorted, parts_of_keys, sort_by_key, sort_by_key_time
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME

NEAR = st.integers(-5, 5)
FAR = st.one_of(NEAR, st.sampled_from([-(2**56), 2**56, 2**40]))
CODES = st.one_of(st.integers(0, 4), st.sampled_from([-7, 1000, 2**31]))

Ints = np.ndarray[Any, np.dtype[np.int64]]


def parted(rows: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    return np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.int64)


@given(st.one_of(st.lists(st.tuples(CODES, times), max_size=30) for times in (NEAR, FAR)))
def test_rows_are_sorted_by_key_then_time_then_place(rows: list[tuple[int, int]]) -> None:
    codes, times = parted(rows)
    order = sorted(range(len(rows)), key=lambda place: (*rows[place], place))
    found = sort_by_key_time(codes, times)
    assert found.order.tolist() == order
    assert list(zip(found.codes.tolist(), found.times.tolist(), strict=True)) == sorted(rows)
    assert all(part.dtype == np.int64 for part in found)


@given(
    st.one_of(st.lists(st.tuples(CODES, times, st.booleans()), max_size=30) for times in (NEAR, FAR)),
    st.sampled_from([1, 2**60]),
)
def test_rows_that_are_left_out_take_no_place(rows: list[tuple[int, int, bool]], apart: int) -> None:
    """Also where codes are so far apart that they are not packed."""
    codes, times = parted([(code * apart % 2**62, time) for code, time, _ in rows])
    kept = np.array([row[2] for row in rows], np.bool_)
    found = sort_by_key_time(codes, times, kept)
    order = [place for place in sort_by_key_time(codes, times).order.tolist() if kept[place]]
    assert found.order.tolist() == order
    assert found.codes.tolist() == codes[order].tolist()
    assert found.times.tolist() == times[order].tolist()


@given(
    st.one_of(st.lists(st.tuples(CODES, times), max_size=30) for times in (NEAR, FAR)),
    st.sampled_from([0, 3, 2**40, 2**62]),
)
def test_a_line_leaves_room_between_keys(rows: list[tuple[int, int]], reach: int) -> None:
    """What is up to `reach` before or after a row falls where it falls among the rows of its key."""
    codes, times = parted(sorted(rows))
    line = one_line(codes, times, reach)
    keys, instants = [abs(code) for code, _ in rows] or [0], [time for _, time in rows] or [0]
    needed = (max(instants) - min(instants) + 1 + reach) * max(keys)
    assert line is not None or not rows or needed + reach > 2**61
    for since in (-reach, reach) if line is not None else ():
        assert searched(line, line + since).tolist() == first_rows(codes, times, codes, times + since).tolist()


@pytest.mark.parametrize("bits", [20, 45, 46, 56, 61])
def test_rows_whose_key_time_and_place_need_more_bits_than_there_are(bits: int) -> None:
    """300 keys and 1,000 places leave 45 bits for times; the last digits of longer ones decide all the same."""
    random = np.random.default_rng(bits)
    codes, times = random.integers(0, 300, 1000).astype(np.int32), random.integers(0, 1 << bits, 1000)
    codes[::2], times[::2] = codes[1::2], times[1::2] ^ random.integers(0, 4, 500)
    times[:2] = 0, (1 << bits) - 1
    assert sort_by_key_time(codes, times).order.tolist() == np.lexsort([times, codes]).tolist()


@given(st.lists(CODES | st.sampled_from([-(2**62), 2**62]), max_size=30))
def test_rows_are_sorted_by_key_then_place(keys: list[int]) -> None:
    """Also where codes are so far apart that they are not packed."""
    codes, order = np.array(keys, np.int64), sorted(range(len(keys)), key=lambda place: (keys[place], place))
    found = sort_by_key(codes)
    assert [part.tolist() for part in found] == [order, sorted(keys)]
    assert all(part.dtype == np.int64 for part in found)


def test_rows_that_lie_further_apart_than_int64_counts() -> None:
    """As numbers do that stand for floats of both signs: half of the range and more is between them."""
    numbers = np.array([2**62, -(2**63), 0, 2**63 - 1, -1], np.int64)
    codes = np.array([1, 0, 0, 1, 0], np.int64)
    assert sort_by_key_time(codes, numbers).order.tolist() == np.lexsort([numbers, codes]).tolist()


@given(st.lists(st.integers(0, 6), max_size=40).map(sorted), st.integers(1, 9))
def test_parts_hold_whole_keys_and_every_row_once(codes: list[int], size: int) -> None:
    with rerouted(keys_part=size):
        parts = [codes[part] for part in parts_of_keys(np.array(codes, np.int64))]
    assert [code for part in parts for code in part] == codes
    assert all(before[-1] < after[0] for before, after in pairwise(parts))
    # a part is longer than asked only where one key is
    assert all(len(part) <= size or len(set(part)) == 1 or len(part) - size < codes.count(part[-1]) for part in parts)


@given(*[st.one_of(st.lists(st.tuples(CODES, times), max_size=20) for times in (NEAR, FAR))] * 2)
def test_two_sorted_sets_are_merged(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    left, right = sorted(left), sorted(right)
    together = left + right
    order = merge_sorted(*parted(left), *parted(right)).tolist()
    assert order == sorted(range(len(together)), key=lambda place: (together[place], place))


@given(
    st.one_of(st.lists(st.tuples(CODES, times), max_size=30) for times in (NEAR, FAR)),
    st.lists(st.tuples(CODES, st.one_of(FAR, st.sampled_from([START_OF_TIME, END_OF_TIME]))), max_size=10),
    st.booleans(),
)
def test_the_first_row_of_a_key_since_a_time(
    rows: list[tuple[int, int]], wanted: list[tuple[int, int]], is_ordered: bool
) -> None:
    rows = sorted(rows)
    wanted = sorted(wanted) if is_ordered else wanted
    with rerouted(searched_piece=2):
        found = first_rows(*parted(rows), *parted(wanted))
    assert found.tolist() == [bisect_left(rows, place) for place in wanted]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=40), st.integers(0, 20))
def test_a_trailing_window_holds_the_rows_of_its_key_and_time(rows: list[tuple[int, int]], diff: int) -> None:
    rows = sorted(rows)
    codes, times = parted(rows)
    low, high = window_rows(codes, times, codes, times - diff, times + 1)
    for (code, time), start, end in zip(rows, low.tolist(), high.tolist(), strict=True):
        held = [row for row in rows if row[0] == code and time - diff <= row[1] <= time]
        assert rows[start:end] == held
