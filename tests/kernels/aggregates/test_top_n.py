"""The n-th greatest number of each group, by every route: against sorting each group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.aggregates.top_n import nth_greatest
from fanlight.kernels.grouping.groups import Groups, Pairs
from fanlight.kernels.routes import rerouted

numbers_near, numbers_far = st.integers(-3, 3), st.sampled_from([-(2**63), -(2**40), -1, 0, 2**40, 2**62])


@pytest.mark.parametrize("long_run", [0, 2, 1 << 8])
@given(st.lists(st.lists(numbers_near | numbers_far, max_size=6), min_size=1, max_size=4), st.integers(1, 4))
def test_is_found_in_runs_as_in_any_order(long_run: int, runs: list[list[int]], n: int) -> None:
    """Of a group without numbers nothing is asked."""
    codes = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    numbers = np.array([number for run in runs for number in run], np.int64)
    if not len(numbers):
        return
    bounds = np.searchsorted(codes, np.arange(len(runs) + 1))
    wanted = [sorted(run)[-min(n, len(run))] for run in runs if run]
    filled = [place for place, run in enumerate(runs) if run]
    with rerouted(long_run=long_run):
        for groups in (Groups(codes, len(runs)), Groups(codes, len(runs), bounds=bounds)):
            assert nth_greatest(numbers, groups, n)[filled].tolist() == wanted


@given(st.lists(st.integers(-3, 3) | st.integers(100, 103), min_size=1, max_size=12), st.booleans())
def test_rows_of_one_key_that_come_in_order_lie_group_by_group(outer: list[int], in_order: bool) -> None:
    """Then nobody has to count how many rows a group has."""
    owners = np.array(sorted(outer) if in_order else outer, np.int64)
    pairs = Pairs.of(owners, np.zeros(len(owners), np.int64), 1)
    sizes = pairs.groups.sizes()
    assert sizes.tolist() == np.bincount(pairs.groups.codes, minlength=pairs.groups.count).tolist()
    kept = pairs.occurring(sizes)
    assert pairs.split(kept)[0].tolist() == sorted(set(outer))
    if pairs.groups.bounds is not None:
        assert (np.diff(owners) >= 0).all()
        assert pairs.groups.bounds[-1] == len(owners)
