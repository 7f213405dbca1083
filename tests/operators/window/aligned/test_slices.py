"""The slices of a shard's windows: appended as records come, merged when windows are asked for.

Windows are thirty long and start every ten, so a slice is ten wide and in three of them: window 0 is [0, 30).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.accepting import Record, Shard
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.operators.window.aligned.slices import WindowSlices, sliced

HOPPING = Shard(fl.hopping("30 us", every="10 us"))
TUMBLING = Shard(fl.tumbling("10 us"))


def kept(shard: Shard, *bundles: list[Record], store: WatchedStore | None = None) -> WindowSlices:
    slices = WindowSlices(shard.plan, WatchedStore("partials") if store is None else store)
    for bundle in bundles:
        slices.append(sliced(shard.plan, shard.accepted(*bundle)))
    return slices


def said(shard: Shard, panes: tuple[np.ndarray, list[pa.Array], object]) -> list[tuple[int, str, int, int]]:
    """Window, key, count and sum of each pane."""
    windows, keys, partials = panes
    values = shard.plan.aggregation.finish(partials)  # type: ignore[arg-type]
    columns = [windows.tolist(), keys[0].to_pylist(), *(column.to_pylist() for column in values)]
    return sorted(zip(*columns, strict=True))


def test_records_of_a_slice_and_key_are_one_row_of_partials() -> None:
    rows = sliced(HOPPING.plan, HOPPING.accepted((5, "a"), (25, "a"), (7, "a"), (5, "b")), in_order=True)
    assert rows.partials.rows.tolist() == [2, 1, 1]
    assert rows.keys[0].to_pylist() == ["a", "b", "a"]


def test_to_append_reads_nothing() -> None:
    store = WatchedStore("partials")
    kept(HOPPING, [(5, "a")], [(5, "a"), (25, "b")], store=store)
    assert store.read == []
    assert len(store.written) == 3


def test_a_window_is_the_merge_of_its_slices() -> None:
    """5, 15 and 25 are in window 0; 15 and 25 in window 1; 25 in window 2."""
    slices = kept(HOPPING, [(5, "a"), (15, "a")], [(25, "a"), (25, "b")])
    wanted = [(0, "a", 3, 45), (0, "b", 1, 25), (1, "a", 2, 40), (1, "b", 1, 25), (2, "a", 1, 25), (2, "b", 1, 25)]
    assert said(HOPPING, slices.merged(np.array([0, 1, 2]))) == wanted
    assert said(HOPPING, slices.serve(np.array([0, 1, 2]))) == wanted


def test_what_comes_to_a_window_that_was_served_is_in_the_next_one() -> None:
    slices = kept(HOPPING, [(15, "a")])
    assert said(HOPPING, slices.serve(np.array([0]))) == [(0, "a", 1, 15)]
    slices.append(sliced(HOPPING.plan, HOPPING.accepted((16, "a"), (35, "b"))))
    assert said(HOPPING, slices.serve(np.array([1]))) == [(1, "a", 2, 31), (1, "b", 1, 35)]


@pytest.mark.parametrize(("also", "found"), [(None, [0, 1, 2]), ([5], [0, 1, 2, 3, 4])])
def test_which_windows_hold_anything(also: list[int] | None, found: list[int]) -> None:
    """25 is in the windows 0 to 2. Slice 5, if it is counted too, is in 3 to 5, and 5 is not asked about."""
    slices = kept(HOPPING, [(25, "a")])
    assert slices.holding(-5, 4, None if also is None else np.array(also)).tolist() == found
    assert slices.holding(3, 1).tolist() == []


def test_rows_of_some_keys_only() -> None:
    slices = kept(HOPPING, [(5, "a"), (5, "b"), (15, "c"), (65, "a")])
    rows = slices.rows_of_keys(np.array([0]), [pa.array(["a", "c"])], 2)
    assert rows.keys[0].to_pylist() == ["a", "c"]


def test_slices_go_when_their_last_window_has_expired() -> None:
    """5 is in slice 0, whose last window is 0; 15 in slice 1, whose last is 1."""
    store = WatchedStore("partials")
    slices = kept(HOPPING, [(5, "a"), (15, "a")], store=store)
    slices.retire(-1)
    assert [address.part for address in store.list("partials")] == [0, 1]
    slices.retire(0)
    assert [address.part for address in store.list("partials")] == [1]


def test_windows_that_do_not_overlap_have_a_slice_each() -> None:
    slices = kept(TUMBLING, [(5, "a"), (15, "a")], [(7, "a")])
    assert not slices.overlap
    assert said(TUMBLING, slices.merged(np.array([0, 1]))) == [(0, "a", 2, 12), (1, "a", 1, 15)]
