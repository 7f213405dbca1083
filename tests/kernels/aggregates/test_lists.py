"""Rows in lists, one list a group: laid out by group and taken apart again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.aggregates.lists import by_groups, empty_lists, in_lists, paired, taken_apart
from fanlight.kernels.grouping.groups import Groups


def groups(*codes: int, count: int) -> Groups:
    return Groups(np.array(codes, np.int64), count)


def test_a_list_for_each_size_filled_in_order() -> None:
    assert in_lists(pa.array([1, 2, 3]), np.array([2, 0, 1])).to_pylist() == [[1, 2], [], [3]]


def test_a_list_for_each_group_in_which_rows_keep_their_order() -> None:
    """Group 1 has nothing."""
    rows = pa.array(["d", "a", "c", "b"])
    assert by_groups(rows, groups(2, 0, 2, 0, count=3)).to_pylist() == [["a", "b"], [], ["d", "c"]]


def test_empty_lists_have_their_type() -> None:
    assert empty_lists(2, pa.string()).equals(pa.array([[], []], pa.list_(pa.string())))


def test_taken_apart_each_row_is_of_its_list_or_of_the_group_of_its_list() -> None:
    """The lists are a part of a longer column, so their rows do not begin at its first."""
    lists = pa.array([[9], [1, 2], [], [3]]).slice(1)
    rows, own = taken_apart(lists)
    assert (rows.to_pylist(), own.codes.tolist(), own.count) == ([1, 2, 3], [0, 0, 2], 3)
    rows, theirs = taken_apart(lists, groups(5, 6, 5, count=7))
    assert (rows.to_pylist(), theirs.codes.tolist(), theirs.count) == ([1, 2, 3], [5, 5, 5], 7)


def test_what_was_laid_out_by_group_is_taken_apart_into_the_same_groups() -> None:
    rows, found = taken_apart(by_groups(pa.array([1, 2, 3]), groups(1, 0, 1, count=2)))
    assert list(zip(found.codes.tolist(), rows.to_pylist(), strict=True)) == [(0, 2), (1, 1), (1, 3)]


def test_two_columns_of_lists_are_paired_list_by_list_the_left_before_the_right() -> None:
    rows, found = paired(pa.array([[1], [2, 3]]), pa.array([[4, 5], []], pa.list_(pa.int64())))
    assert list(zip(found.codes.tolist(), rows.to_pylist(), strict=True)) == [(0, 1), (1, 2), (1, 3), (0, 4), (0, 5)]
    assert by_groups(rows, found).to_pylist() == [[1, 4, 5], [2, 3]]
