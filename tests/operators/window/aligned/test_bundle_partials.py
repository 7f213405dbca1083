"""What a bundle brings to each pane: written out or over two stacks, one row a pane.

Windows are thirty long and start every ten: a record at 25 is in the windows 0, 1 and 2.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.window.accepting import Record, Shard

import fanlight as fl
from fanlight.kernels.routes import rerouted
from fanlight.operators.window.aligned.bundle_partials import BundlePartials, bundle_partials

SHARD = Shard(fl.hopping("30 us", every="10 us"))
Said = list[tuple[int, str, int, int]]


def brought(*records: Record, written_out: int = 1 << 16, watermark: int = -1000) -> BundlePartials:
    with rerouted(written_out=written_out):
        return bundle_partials(SHARD.plan, SHARD.accepted(*records, watermark=watermark), timed=False)


def said(found: BundlePartials) -> Said:
    """Window, key, count and sum of each pane."""
    values = [column.to_pylist() for column in SHARD.plan.aggregation.finish(found.partials)]
    return sorted(zip(found.windows.tolist(), found.keys[0].to_pylist(), *values, strict=True))


@pytest.mark.parametrize("written_out", [1 << 16, -1], ids=["written out", "over two stacks"])
def test_a_record_counts_in_every_window_that_holds_it(written_out: int) -> None:
    found = brought((25, "a"), (31, "a"), (25, "b"), written_out=written_out)
    assert said(found) == [
        (0, "a", 1, 25),
        (0, "b", 1, 25),
        (1, "a", 2, 56),
        (1, "b", 1, 25),
        (2, "a", 2, 56),
        (2, "b", 1, 25),
        (3, "a", 1, 31),
    ]


def test_windows_that_have_expired_take_nothing() -> None:
    """At 40 the windows up to 1, which ends at 40, are over."""
    assert said(brought((25, "a"), watermark=40)) == [(2, "a", 1, 25)]


@given(st.lists(st.tuples(st.integers(-30, 60), st.sampled_from("abc")), min_size=1, max_size=20))
def test_both_routes_bring_the_same(records: list[Record]) -> None:
    assert said(brought(*records, written_out=-1)) == said(brought(*records))


def test_the_least_time_of_what_came_to_a_pane_where_it_is_asked_for() -> None:
    found = bundle_partials(SHARD.plan, SHARD.accepted((29, "a"), (22, "a"), (31, "a"), watermark=-99), timed=True)
    assert dict(zip(found.windows.tolist(), found.least.tolist(), strict=True)) == {0: 22, 1: 22, 2: 22, 3: 31}


def test_two_that_were_brought_become_one_row_a_pane() -> None:
    both = brought((25, "a")).join(brought((31, "a"), (25, "b")), SHARD.plan)
    assert said(both) == said(brought((25, "a"), (31, "a"), (25, "b")))


def test_records_that_count_in_none_but_some_panes() -> None:
    """The panes of a in the windows 0 to 2: 25 counts in no other, 31 in window 3 too, and b's not at all."""
    found = brought((25, "a"), (31, "a"), (25, "b"))
    of_a = np.array([key == "a" for key in found.keys[0].to_pylist()]) & (found.windows <= 2)
    assert found.only_in(of_a).tolist() == [True, False, False]
