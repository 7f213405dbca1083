"""Grouping by two numbers at once: (slice, key) or (window, key)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.groups import Pairs, locate

pairs = st.lists(st.tuples(st.sampled_from([-3, 0, 1, 2**50]), st.integers(0, 4)), max_size=15)


@given(pairs)
def test_groups_are_the_pairs_that_occur_by_outer_and_code(rows: list[tuple[int, int]]) -> None:
    outer, codes = np.array(rows, np.int64).reshape(-1, 2).T
    found = Pairs.of(outer.copy(), codes.copy(), 5)
    kept = found.occurring(found.groups.sizes())
    assert list(zip(*(part.tolist() for part in found.split(kept)), strict=True)) == sorted(set(rows))
    named = dict(zip(kept.tolist(), sorted(set(rows)), strict=True))
    assert [named[group] for group in found.groups.codes.tolist()] == rows


@pytest.mark.parametrize("far", [1, 10**9], ids=["a rectangle", "only what occurs"])
def test_few_pairs_of_many_are_numbered_one_by_one(far: int) -> None:
    """Two slices and a million keys: a rectangle of two million would be made for two rows."""
    found = Pairs.of(np.array([0, far]), np.array([3, 999_999]), 1_000_000)
    assert found.groups.count == 2
    assert [part.tolist() for part in found.split(np.arange(2))] == [[0, far], [3, 999_999]]


known = st.lists(st.tuples(st.integers(-2, 2), st.sampled_from(["a", "b", None])), max_size=8, unique=True)
wanted = st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(["a", "b", "c", None])), max_size=8)


@given(known, wanted)
def test_each_wanted_pair_is_found_where_it_stands(
    there: list[tuple[int, str | None]], sought: list[tuple[int, str | None]]
) -> None:
    found = locate(*columns(there), *columns(sought))
    assert found.tolist() == [there.index(pair) if pair in there else -1 for pair in sought]


def columns(rows: list[tuple[int, str | None]]) -> tuple[np.ndarray, list[pa.Array]]:
    return np.array([window for window, _ in rows], np.int64), [pa.array([key for _, key in rows], pa.string())]
