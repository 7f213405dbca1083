"""Changes settled in numbers, against counting them one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.groups import Groups
from fanlight.kernels.row_changes import SettledChanges, settle_equal, settle_unique

GROUPS = 3
Change = tuple[int, bool]
"""The number of its row, and whether it is a delete."""

changes = st.lists(st.tuples(st.integers(0, GROUPS - 1), st.booleans()), max_size=30)


def one_by_one(changes: list[Change], live: list[int], *, unique: bool) -> tuple[list[bool], list[bool], list[int]]:
    """Queues of rows, the oldest first: a row that was there before is None, an inserted one its place."""
    queues: list[list[int | None]] = [[None] * count for count in live]
    finds = []
    for place, (number, is_delete) in enumerate(changes):
        queue = queues[number]
        finds.append(not is_delete or bool(queue))
        if is_delete or unique:
            del queue[:1]
        if not is_delete:
            queue.append(place)
    stays = [place in queues[number] for place, (number, _) in enumerate(changes)]
    return finds, stays, [count - queue.count(None) for count, queue in zip(live, queues, strict=True)]


def settled(
    settle: Callable[..., SettledChanges], changes: list[Change], live: list[int]
) -> tuple[list[bool], list[bool], list[int]]:
    groups = Groups(np.array([number for number, _ in changes], np.int64), GROUPS)
    found = settle(groups, np.array([is_delete for _, is_delete in changes], np.bool_), np.array(live))
    return found.finds.tolist(), found.stays.tolist(), found.removed.tolist()


@given(changes=changes, live=st.lists(st.integers(0, 4), min_size=GROUPS, max_size=GROUPS))
def test_equal_rows_are_taken_oldest_first(changes: list[Change], live: list[int]) -> None:
    assert settled(settle_equal, changes, live) == one_by_one(changes, live, unique=False)


@given(changes=changes, live=st.lists(st.integers(0, 1), min_size=GROUPS, max_size=GROUPS))
def test_an_insert_replaces_the_row_that_is_there(changes: list[Change], live: list[int]) -> None:
    finds, stays, removed = settled(settle_unique, changes, live)
    touched = {number for number, _ in changes}
    expected = one_by_one(changes, live, unique=True)
    assert (finds, stays) == expected[:2]
    assert [removed[number] for number in touched] == [expected[2][number] for number in touched]


@pytest.mark.parametrize("settle", [settle_equal, settle_unique])
def test_no_changes_change_nothing(settle: Callable[..., SettledChanges]) -> None:
    assert settled(settle, [], [0, 0, 0]) == ([], [], [0, 0, 0])
