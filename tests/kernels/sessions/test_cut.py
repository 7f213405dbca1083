"""Sessions cut short from the first record to the last, beside a reading of the same one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.sessions.cut import Limits, cut

records = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 15), st.booleans()), max_size=14).map(sorted)


def cut_slowly(rows: list[tuple[int, int, bool]], limits: Limits) -> list[tuple[int, bool]]:
    """Where each session starts and whether it was cut, session by session."""
    found, place = [], 0
    while place < len(rows):
        cluster_, first, _ = rows[place]
        end, is_cut = place, False
        while end < len(rows) and rows[end][0] == cluster_:
            time = rows[end][1]
            if limits.duration is not None and time >= first + limits.duration:
                is_cut = True
                break
            same = [row for row in rows[end:] if row[:2] == (cluster_, time)]
            end += len(same)
            is_full = limits.count is not None and end - place >= limits.count
            if is_full or any(ending for _, _, ending in same):
                is_cut = True
                break
        found.append((place, is_cut))
        place = end
    return found


@given(rows=records, duration=st.none() | st.integers(1, 8), count=st.none() | st.integers(1, 4))
def test_sessions_are_cut_from_first_to_last(
    rows: list[tuple[int, int, bool]], duration: int | None, count: int | None
) -> None:
    limits = Limits(duration, count)
    table = np.array(rows, np.int64).reshape(-1, 3)
    starts, shortened = cut(table[:, 0], table[:, 1], table[:, 2].astype(np.bool_), limits)
    assert list(zip(starts.tolist(), shortened.tolist(), strict=True)) == cut_slowly(rows, limits)


@pytest.mark.parametrize(
    ("limits", "starts", "shortened"),
    [
        (Limits(None, None), [0, 5], [False, False]),
        (Limits(None, 2), [0, 3, 5], [True, True, False]),
        (Limits(4, None), [0, 3, 4, 5], [True, True, False, False]),
        (Limits(4, 1), [0, 1, 3, 4, 5], [True, True, True, True, True]),
    ],
    ids=["none", "two records", "four long", "both"],
)
def test_where_sessions_start_and_whether_they_were_cut(
    limits: Limits, starts: list[int], shortened: list[bool]
) -> None:
    """One cluster at 0, 2, 2, 4 and 8, another at 0: two records of one time stay together.

    Four long: 4 is four after 0, and 8 is four after 4. Two: 0, 2 and 2 are one, 4 and 8 another.
    """
    clusters, times = np.array([0, 0, 0, 0, 0, 1]), np.array([0, 2, 2, 4, 8, 0])
    found = cut(clusters, times, np.zeros(6, np.bool_), limits)
    assert [part.tolist() for part in found] == [starts, shortened]
