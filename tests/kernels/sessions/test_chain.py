"""Intervals chained where neighbours overlap: a chain stands for its intervals wherever clusters are made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.sessions.chain import chain
from fanlight.kernels.sessions.cluster import cluster

from .test_cluster import Interval, columns, intervals


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
