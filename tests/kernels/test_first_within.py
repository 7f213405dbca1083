"""The first of each id, against looking at records one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.first_within import first_within, starts_within
from fanlight.model.time.timestamp import EARLIEST, LATEST

IDS = 3
Come = tuple[int, int]
"""The id of a record, and its time."""

records = st.lists(st.tuples(st.integers(0, IDS - 1), st.integers(-20, 60)), max_size=60)
reaches = st.sampled_from([1, 3, 10, LATEST - EARLIEST])


def one_by_one(came: list[Come], reach: int, kept: list[Come]) -> list[bool]:
    kept, found = list(kept), []
    for code, time in came:
        is_first = not any(code == own and abs(time - start) <= reach for own, start in kept)
        found.append(is_first)
        if is_first:
            kept.append((code, time))
    return found


def at_once(came: list[Come], reach: int, kept: list[Come]) -> list[bool]:
    found: list[bool] = first_within(*columns(came), reach, *columns(kept)).tolist()
    return found


def columns(rows: list[Come]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array([row[place] for row in rows], np.int64) for place in range(2))  # type: ignore[return-value]


@given(records, reaches, records)
def test_the_same_are_kept_as_one_by_one(came: list[Come], reach: int, before: list[Come]) -> None:
    """Records kept before are further than the reach apart, as those are that were kept."""
    kept = [one for one, is_first in zip(before, one_by_one(before, reach, []), strict=True) if is_first]
    assert at_once(came, reach, kept) == one_by_one(came, reach, kept)


@given(records, reaches)
def test_groups_of_rows_in_order_start_where_the_one_before_ends(came: list[Come], reach: int) -> None:
    came = sorted(came, key=lambda one: one[1])
    starts, is_start = starts_within(*columns(came), reach, *columns([]))
    last: dict[int, int] = {}
    for place, (code, time) in enumerate(came):
        begins = code not in last or time > last[code] + reach
        last[code] = time if begins else last[code]
        assert (starts[place], is_start[place]) == (last[code], begins)


def test_rows_go_on_with_groups_that_are_open() -> None:
    """The group of 5 reaches to 15; 16 starts another."""
    starts, is_start = starts_within(*columns([(0, 9), (0, 15), (0, 16)]), 10, *columns([(0, 5)]))
    assert starts.tolist() == [5, 5, 16]
    assert is_start.tolist() == [False, False, True]


@pytest.mark.parametrize("order", ["forwards", "backwards", "from the middle", "shuffled"])
def test_a_long_chain_of_one_id(order: str) -> None:
    """Twenty thousand records of one id, one each second: every third is kept, whichever comes first."""
    times = np.arange(20_000)
    match order:
        case "backwards":
            times = times[::-1]
        case "from the middle":
            times = np.concatenate([times[10_000:], times[:10_000][::-1]])
        case "shuffled":
            times = times * 7_919 % 20_000
    came = [(0, int(time)) for time in times]
    found = at_once(came, 2, [])
    if order == "shuffled":
        kept = np.sort(times[np.array(found)])
        assert (np.diff(kept) > 2).all()
        assert (np.diff(kept) <= 5).all()  # no place is left for another
        assert at_once(came[:500], 2, []) == one_by_one(came[:500], 2, [])
    else:
        assert sum(found) == 6_667


def test_nothing_comes() -> None:
    assert at_once([], 5, []) == []
    assert at_once([], 5, [(0, 1)]) == []
