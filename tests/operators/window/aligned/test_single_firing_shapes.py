"""Panes that fire once, in every shape windows and keys have, and however their records are cut into bundles."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operators.driven import Driven

import fanlight as fl
from fanlight.kernels.routes import rerouted
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.hopping import Hopping
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.window.plan import Plan
from fanlight.state.memory import MemoryStore

from .one_shard import TEN, Record, Shard


def test_windows_with_gaps_between_them() -> None:
    """[0, 4), [10, 14), ...: slices are numbered 0 for the window and 1 for the gap, and the next have 2 and 3."""
    shard = Shard(Hopping(Duration(4), Duration(10), gaps=True))
    shard.step([(11, "a", 1)], 0)
    fired = shard.step([(-7, "a", 2), (1, "a", 4), (5, "a", 8), (13, "a", 16), (21, "a", 32)], 14)
    assert fired == [("a", 0, 1, 4), ("a", 10, 2, 17)]
    assert shard.operator.letters.count == 2  # -7 came too late, and no window holds 5
    assert shard.kept == [4]


def test_windows_that_share_slices_keep_all_they_are_brought() -> None:
    """[-10, 10), [0, 20), [10, 30): at 20 the first two have expired, and 12 is still needed by the last."""
    shard = Shard(Hopping(Duration(20), Duration(10)))
    fired = shard.step([(12, "a", 1), (3, "a", 2)], 20)
    assert fired == [("a", -10, 1, 2), ("a", 0, 2, 3)]
    assert shard.step([(14, "a", 4), (25, "b", 8)], 40) == [("a", 10, 2, 5), ("b", 10, 1, 8), ("b", 20, 1, 8)]


def test_without_keys_a_window_has_one_pane() -> None:
    shard = Shard(keys=())
    shard.step([(12, "a", 1)], 0)
    assert shard.step([(3, "a", 2), (13, "b", 4), (4, "b", 8)], 20) == [(None, 0, 2, 10), (None, 10, 2, 5)]


def test_several_key_columns_are_ordered_one_after_the_other() -> None:
    shard = Shard(keys=("j", "k"))
    fired = shard.step([(3, "b", 1), (3, "aa", 2), (3, None, 4), (4, "b", 8), (5, "a", 16)], 10)
    assert fired == [("a", 0, 1, 16), ("b", 0, 2, 9), ("aa", 0, 1, 2), (None, 0, 1, 4)]


def test_before_1970_and_far_apart() -> None:
    early, late = -(10**15), 10**15
    shard = Shard()
    shard.step([(early, "a", 1)], early)
    fired = shard.step([(late, "b", 2), (early, "a", 4), (-1, "a", 8)], late)
    assert fired == [("a", early, 2, 5), ("a", -10, 1, 8)]
    assert shard.step([], late + 10) == [("b", late, 1, 2)]


class Fresh(fl.UserAggregate):
    """A count that notes how often it was asked for a fresh state."""

    state_type = pa.int64()
    output_type = pa.int64()
    asked: ClassVar[int] = 0

    def zero(self) -> int:
        type(self).asked += 1
        return 0

    def add(self, state: int, value: int) -> int:
        return state + 1

    def merge(self, left: int, right: int) -> int:
        return left + right

    def finish(self, state: int) -> int:
        return state


@pytest.mark.parametrize("watermark", [0, 10])
def test_two_records_of_keys_far_apart_ask_for_two_states(watermark: int) -> None:
    schema = pa.schema({"ts": pa.int64(), "k": pa.int64()})
    plan = Plan.bind(WindowSpec("ts", TEN, (("n", Fresh("k")),), ("k",)), schema)
    batch = pa.record_batch([pa.array([1, 2]), pa.array([0, 1_000_000])], schema=schema)
    Fresh.asked = 0
    Driven(plan, MemoryStore()).step(Bundle(batch, np.array([1, 2]), np.array([0])), watermark)
    assert Fresh.asked == 2


# ── however it is cut ────────────────────────────────────────────────────────────────────────────────────────────

records = st.lists(
    st.tuples(st.integers(-25, 45), st.sampled_from(["a", "b", "c", None]), st.integers(-9, 9)), max_size=20
)


@given(records, st.lists(st.integers(0, 20), max_size=4).map(sorted), st.integers(-20, 50), st.sampled_from([1, 2, 3]))
def test_bundles_are_their_records_one_by_one(
    all_records: list[Record], cuts: list[int], watermark: int, large: int
) -> None:
    """All are taken in before the watermark moves; then the last bundle expires what it brings itself."""
    together, alone = Shard(), Shard()
    start = min((time for time, _, _ in all_records), default=0) - 10
    together.step([], start)
    bundles = [all_records[i:j] for i, j in zip([0, *cuts], [*cuts, len(all_records)], strict=True)]
    with rerouted(large_slice=large):
        for bundle in bundles[:-1]:
            assert together.step(bundle, start) == []
        ours = together.step(bundles[-1], watermark)
        ours_at_end = together.step([], 100)
    for record in all_records:
        alone.step([record], start)
    assert ours == alone.step([], watermark)
    assert ours_at_end == alone.step([], 100)
    assert together.kept == alone.kept == []


@pytest.mark.parametrize("in_text", [False, True])
def test_many_keys_in_large_windows(in_text: bool) -> None:
    """Three windows of some 20,000 records each, of 30,000 keys: two leave at once, one was kept in part."""
    rng, count = np.random.default_rng(7), 60_000
    numbers = rng.integers(0, 30_000, count)
    keys = pa.array(numbers).cast(pa.string()) if in_text else pa.array(numbers)
    table = pa.table({"ts": rng.integers(0, 30, count), "k": keys, "v": rng.integers(-9, 9, count)})
    plan = Plan.bind(WindowSpec("ts", TEN, (("n", fl.count()), ("total", fl.sum("v"))), ("k",)), table.schema)
    shard = Driven(plan, MemoryStore())
    leaving = []
    for part, watermark in ((table.slice(0, 5_000), 0), (table.slice(5_000), 20), (None, 30)):
        batch = None if part is None else part.combine_chunks().to_batches()[0]
        bundle = None if batch is None else Bundle(batch, batch.column("ts").to_numpy(), np.array([0]))
        leaving += shard.step(bundle, watermark)
    fired = pa.Table.from_batches(leaving)
    starts = pa.compute.struct_field(fired["window"], "start").cast(pa.int64())
    own = pa.table({"window": starts, "k": fired["k"], "n": fired["n"], "total": fired["total"]})
    windowed = table.append_column("window", pa.array(table["ts"].to_numpy() // 10 * 10))
    right = windowed.group_by(["window", "k"]).aggregate([("v", "count"), ("v", "sum")])
    right = right.sort_by([("window", "ascending"), ("k", "ascending")]).rename_columns(own.column_names)
    assert own.equals(right)
