"""Intervals joined where they overlap, beside a reading of the same one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.sessions.cluster import cluster, meets

Interval = tuple[int, int, int]
intervals = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-20, 20), st.integers(1, 9)).map(lambda i: (i[0], i[1], i[1] + i[2])),
    max_size=12,
)


def columns(rows: list[Interval], scale: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1] * scale, table[:, 2] * scale


def joined(rows: list[Interval], *, touching: bool) -> list[Interval]:
    """The clusters by key and start, one interval after the other."""
    found: list[Interval] = []
    for key, start, end in sorted(rows):
        if found and found[-1][0] == key and (start < found[-1][2] or (touching and start == found[-1][2])):
            found[-1] = (key, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((key, start, end))
    return found


@pytest.mark.parametrize("scale", [1, 2**56], ids=["near", "far apart"])
@given(rows=intervals, touching=st.booleans())
def test_intervals_that_overlap_are_one(rows: list[Interval], touching: bool, scale: int) -> None:
    found = cluster(*columns(rows, scale), touching=touching)
    bounds = [(key, start * scale, end * scale) for key, start, end in joined(rows, touching=touching)]
    assert list(zip(found.codes, found.starts, found.ends, strict=True)) == bounds
    for (key, start, _), owner in zip(rows, found.groups.codes.tolist(), strict=True):
        own_key, own_start, own_end = bounds[owner]
        assert (own_key, own_start <= start * scale < own_end) == (key, True)


@given(rows=intervals, others=intervals, touching=st.booleans())
def test_intervals_that_meet_others(rows: list[Interval], others: list[Interval], touching: bool) -> None:
    apart = joined(others, touching=True)
    found = meets(*columns(rows), columns(apart), touching=touching).tolist()
    assert found == [
        any(
            key == other and ((start < high and low < end) or (touching and low <= end and start <= high))
            for other, low, high in apart
        )
        for key, start, end in rows
    ]
