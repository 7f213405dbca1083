"""Panes that fire once: what a step brings and expires is never kept, and leaves with what was kept before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.errors import EngineError
from fanlight.kernels import apart
from fanlight.model.duration import Duration
from fanlight.model.kinds import WindowKind
from fanlight.model.spec import WindowSpec
from fanlight.model.windows import Hopping, Tumbling
from fanlight.operators.folding import folding_of
from fanlight.operators.once import OncePanes
from fanlight.operators.plan import Plan
from fanlight.operators.shard import ShardOperator
from fanlight.operators.taken import Bundle
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "j": pa.int64(), "v": pa.int64()})
TEN = Tumbling(Duration(10))
Record = tuple[int, str | None, int]
"""Time, key and value."""
Fired = tuple[str | None, int, int, int]
"""Key, where the window starts, how many records it holds and what they add up to."""


class WatchedStore(MemoryStore):
    """A store that notes which slices of partials are read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        self.written: list[int] = []

    def get(self, address: Address) -> pa.RecordBatch:
        if address.space == "partials":
            self.read.append(address.slice)
        return super().get(address)

    def put(self, address: Address, chunk: pa.RecordBatch) -> None:
        if address.space == "partials":
            self.written.append(address.slice)
        super().put(address, chunk)


class Shard:
    """A shard with windows of ten, unless told otherwise: window w is [10w, 10w + 10)."""

    def __init__(self, window: WindowKind = TEN, keys: tuple[str, ...] = ("k",), **fields: Any) -> None:
        aggregates = (("n", fl.count()), ("total", fl.sum("v")), *fields.pop("more", ()))
        self.store = WatchedStore()
        self.plan = Plan.bind(WindowSpec("ts", window, aggregates, keys, **fields), SCHEMA)
        self.operator = ShardOperator(self.plan, self.store)
        assert isinstance(self.operator._panes, OncePanes)

    def step(self, records: list[Record], watermark: int, **more: Any) -> list[Fired]:
        """Take records in, then a watermark; what leaves."""
        return said(self.rows(records, watermark, **more))

    def rows(self, records: list[Record], watermark: int, judged: list[int] | None = None, **more: Any) -> pa.Table:
        """The same, with every column; `judged` are the watermarks of the records, one each."""
        self.store.read, self.store.written = [], []
        batch = batch_of(records)
        marks = np.array([self.operator.watermark] if judged is None else judged)
        bundle = Bundle(batch, batch.column("ts").to_numpy(), marks) if records else None
        return pa.Table.from_batches(self.operator.step(bundle, watermark, **more), schema=self.plan.result)

    def restart(self) -> None:
        self.operator = ShardOperator(self.plan, self.store)

    @property
    def kept(self) -> list[int]:
        """The slices of which anything is kept."""
        return sorted({address.slice for address in self.store.list("partials")})


def batch_of(records: list[Record]) -> pa.RecordBatch:
    times, keys, values = zip(*records, strict=True) if records else ((), (), ())
    columns = [
        pa.array(times, pa.int64()),
        pa.array(keys, pa.string()),
        pa.array([len(str(k)) for k in keys], pa.int64()),
    ]
    return pa.record_batch([*columns, pa.array(values, pa.int64())], schema=SCHEMA)


def said(rows: pa.Table) -> list[Fired]:
    starts = pa.compute.struct_field(rows["window"], "start").cast(pa.int64()).to_pylist()
    keys = rows["k"].to_pylist() if "k" in rows.schema.names else [None] * len(rows)
    return list(zip(keys, starts, rows["n"].to_pylist(), rows["total"].to_pylist(), strict=True))


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_step_brings_and_expires_is_neither_written_nor_read() -> None:
    """At 20 the windows 0 and 1 have expired; of 2 and 5 the partials are kept."""
    shard = Shard()
    fired = shard.step([(21, "b", 1), (3, "b", 2), (15, "a", 4), (4, "a", 8), (3, "b", 16), (50, "a", 32)], 20)
    assert fired == [("a", 0, 1, 8), ("b", 0, 2, 18), ("a", 10, 1, 4)]
    assert (shard.store.read, shard.store.written) == ([], [2, 5])
    assert shard.kept == [2, 5]
    assert shard.step([], 60) == [("b", 20, 1, 1), ("a", 50, 1, 32)]


def test_nothing_is_left_where_all_of_a_step_expires() -> None:
    shard = Shard()
    assert shard.step([(3, "a", 1), (12, "a", 2)], 20) == [("a", 0, 1, 1), ("a", 10, 1, 2)]
    assert shard.store.written == []
    assert not shard.operator.is_live
    assert shard.step([], 100) == []


def test_a_watermark_at_the_last_instant_of_a_window_expires_it_not() -> None:
    shard = Shard()
    assert shard.step([(3, "a", 1)], 9) == []
    assert shard.store.written == [0]
    assert shard.step([(19, "a", 2)], 19) == [("a", 0, 1, 1)]
    assert shard.store.written == [1]


# ── what was kept and what is new ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("large", [1, 2, 1 << 14])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_kept_and_what_is_new_leave_as_one(
    restarts: bool, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept are windows 1, 3 and 6; new are 0, 1, 2, 3, 4 and 5; 6 stays."""
    monkeypatch.setattr(apart, "_LARGE", large)
    shard = Shard()
    shard.step([(11, "b", 1), (12, "d", 2), (31, "b", 4), (61, "a", 8)], 0)
    if restarts:
        shard.restart()
    new = [(44, "b", 16), (1, "c", 32), (13, "c", 64), (14, "b", 128), (25, "z", 256), (32, None, 512), (51, "a", 1024)]
    assert shard.step([*new, (41, "a", 2048), (62, "a", 4096)], 60) == [
        *[("c", 0, 1, 32)],
        *[("b", 10, 2, 129), ("c", 10, 1, 64), ("d", 10, 1, 2)],
        *[("z", 20, 1, 256)],
        *[("b", 30, 1, 4), (None, 30, 1, 512)],
        *[("a", 40, 1, 2048), ("b", 40, 1, 16)],
        *[("a", 50, 1, 1024)],
    ]
    assert sorted(shard.store.read) == [1, 3]
    assert shard.kept == [6]
    assert shard.step([], 70) == [("a", 60, 2, 4104)]


def test_what_is_new_may_lie_before_or_after_all_that_was_kept() -> None:
    for kept, new in ((5, 35), (35, 5)):
        shard = Shard()
        shard.step([(kept, "a", 1)], 0)
        assert shard.step([(new, "a", 2)], 40) == sorted([("a", kept - 5, 1, 1), ("a", new - 5, 1, 2)])


def test_records_that_came_folded_leave_with_the_others_of_their_step() -> None:
    shard = Shard()
    folding = folding_of(shard.plan)
    assert folding is not None
    shard.step([(1, "b", 1)], 0)
    batch = batch_of([(2, "b", 2), (3, "a", 4), (15, "c", 8), (16, "a", 16), (33, "a", 32)])
    times, slots, _ = folding.divide(batch, 0)
    folded = folding.read([folding.fold(batch, times, slots)[0]])
    fired = shard.step([(4, "a", 64), (17, "b", 128), (25, "a", 256)], 30, folded=folded)
    in_first, in_second = [("a", 0, 2, 68), ("b", 0, 2, 3)], [("a", 10, 1, 16), ("b", 10, 1, 128), ("c", 10, 1, 8)]
    assert fired == [*in_first, *in_second, ("a", 20, 1, 256)]
    assert shard.kept == [3]


def test_a_bundle_judged_record_by_record_leaves_in_parts() -> None:
    """The watermark follows each record: that of 12 expires the window of 3, that of 25 the one of 12. The last
    record is too late; the first one's window had its one firing without it.
    """
    shard = Shard()
    fired = shard.step([(3, "a", 1), (12, "a", 2), (25, "b", 4), (5, "a", 8)], 25, judged=[3, 12, 25, 25])
    assert fired == [("a", 0, 1, 1), ("a", 10, 1, 2)]
    assert shard.operator.letters.count == 1
    assert shard.kept == [2]


# ── a step that fails ────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_failed_step_held_is_gone_with_it() -> None:
    """The sum of window 1 leaves int64 where what was kept of it meets what is new: nothing has happened."""
    shard = Shard()
    shard.step([(12, "a", 2**63 - 1)], 0)
    with pytest.raises(EngineError, match="leaves int64"):
        shard.step([(3, "a", 1), (13, "a", 1), (25, "a", 1)], 20)
    assert shard.kept == [1]
    assert [held.rows.tolist() for _, held in shard.operator.content()] == [[], [1]]
    assert shard.step([], 20) == [("a", 10, 1, 2**63 - 1)]


# ── what stays readable ──────────────────────────────────────────────────────────────────────────────────────────


def test_expired_windows_stay_readable_whether_they_were_kept_or_not() -> None:
    shard = Shard(retention=fl.retention("30 us"), more=(("all", fl.list("v")),))
    shard.step([(3, "a", 1), (12, "a", 2)], 0)
    rows = shard.rows([(13, "b", 4), (14, "a", 8), (25, "c", 16), (31, "a", 32)], 30)
    assert said(rows) == [("a", 0, 1, 1), ("a", 10, 2, 10), ("b", 10, 1, 4), ("c", 20, 1, 16)]
    assert rows["all"].to_pylist() == [[1], [2, 8], [4], [16]]
    phases = dict(shard.operator.content())
    expired, live = phases["expired"], phases["open"]
    assert expired.windows.tolist() == [0, 1, 1, 2]
    assert expired.keys[0].to_pylist() == ["a", "a", "b", "c"]
    assert [column.to_pylist() for column in expired.values] == [[1, 2, 1, 1], [1, 10, 4, 16], [[1], [2, 8], [4], [16]]]
    assert (live.windows.tolist(), live.rows.tolist()) == ([3], [1])


# ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_windows_with_gaps_between_them() -> None:
    """[0, 4), [10, 14), ...: slices are numbered 0 for the window and 1 for the gap, and the next have 2 and 3."""
    shard = Shard(Hopping(Duration(4), Duration(10), gaps=True))
    shard.step([(11, "a", 1)], 0)
    fired = shard.step([(-7, "a", 2), (1, "a", 4), (5, "a", 8), (13, "a", 16), (21, "a", 32)], 14)
    assert fired == [("a", 0, 1, 4), ("a", 10, 2, 17)]
    assert shard.operator.letters.count == 2  # -7 came too late, and no window holds 5
    assert shard.kept == [4]


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
    asked = 0

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
    ShardOperator(plan, MemoryStore()).step(Bundle(batch, np.array([1, 2]), np.array([0])), watermark)
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "_LARGE", large)
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
    shard = ShardOperator(plan, MemoryStore())
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
