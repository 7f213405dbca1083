"""Intervals joined where they overlap, and sessions cut short, beside a reading of the same one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.chains import chain
from fanlight.kernels.cutting import Limits, cut
from fanlight.kernels.intervals import cluster, meets
from fanlight.kernels.tuples import places_within, same_rows

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


@pytest.mark.parametrize("scale", [1, 2**56], ids=["near", "far apart"])
@given(rows=intervals, touching=st.booleans())
def test_chains_stand_for_their_intervals(rows: list[Interval], touching: bool, scale: int) -> None:
    """Each interval is in a chain of its key that spans just its own, and clusters of chains are those of intervals."""
    codes, starts, ends = columns(rows, scale)
    found, whole = (join(codes, starts, ends, touching=touching) for join in (chain, cluster))
    owner = found.groups.codes
    for number in range(found.groups.count):
        mine = owner == number
        assert set(codes[mine].tolist()) == {found.codes[number]}
        assert (starts[mine].min(), ends[mine].max()) == (found.starts[number], found.ends[number])
    again = cluster(found.codes, found.starts, found.ends, touching=touching)
    assert again.starts.tolist() == whole.starts.tolist()
    assert again.groups.codes[owner].tolist() == whole.groups.codes.tolist()


def test_intervals_of_one_length_are_chained_as_far_as_they_hang_together() -> None:
    """Keys (10 bits), times (44) and places (16) do not fit into 64 bits: the last digits of the times are left out."""
    random = np.random.default_rng(3)
    codes, starts = random.integers(0, 1_000, 40_000), random.integers(0, 2**44, 40_000)
    ends = starts + 2**38
    found, whole = (join(codes, starts, ends, touching=False) for join in (chain, cluster))
    assert found.groups.codes.tolist() == whole.groups.codes.tolist()
    assert found.ends.tolist() == whole.ends.tolist()


def test_codes_too_far_apart_to_be_packed_are_clustered() -> None:
    codes = np.array([-(2**62), 2**62, 2**62])
    found = chain(codes, np.array([0, 0, 5]), np.array([9, 9, 14]), touching=False)
    assert found.codes.tolist() == [-(2**62), 2**62]
    assert found.ends.tolist() == [9, 14]


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


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=12))
def test_rows_are_compared_as_wholes(rows: list[tuple[int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 2)
    groups, samples = same_rows(table[:, 0], table[:, 1])
    distinct = sorted(set(rows))
    assert groups.codes.tolist() == [distinct.index(row) for row in rows]
    assert [rows[place] for place in samples.tolist()] == distinct
    firsts = [first for first, _ in rows]
    assert places_within(table[:, 0]).tolist() == [firsts[:i].count(first) for i, first in enumerate(firsts)]
