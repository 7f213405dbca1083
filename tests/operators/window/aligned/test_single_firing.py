"""Panes that fire once: what a step brings and expires is never kept, and leaves with what was kept before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.errors import EngineError
from fanlight.kernels.aggregates.aggregation import Aggregation
from fanlight.kernels.aggregates.count_sum_mean import CountRows
from fanlight.kernels.grouping.groups import Column, Groups
from fanlight.kernels.routes import rerouted
from fanlight.model.firing import FiringTime
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.window.preaggregate.preaggregator import preaggregator_of

from .one_shard import Shard, batch_of, said

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
    assert [held.rows.tolist() for _, held in shard.operator.content()] == [[], []]
    assert shard.step([], 100) == []


def test_a_watermark_at_the_last_instant_of_a_window_expires_it_not() -> None:
    shard = Shard()
    assert shard.step([(3, "a", 1)], 9) == []
    assert shard.store.written == [0]
    assert shard.step([(19, "a", 2)], 19) == [("a", 0, 1, 1)]
    assert shard.store.written == [1]
    assert shard.step([(29, "a", 4)], 30) == [("a", 10, 1, 2), ("a", 20, 1, 4)]
    assert shard.store.written == []


def test_what_two_inputs_bring_to_a_window_that_expires_is_neither_written_nor_read() -> None:
    """At 21 the windows 0 and 1 have expired: the inputs share 0, and 1 is of one alone. Of 2 each has a partial."""
    store = WatchedStore("partials")
    union = fl.union(**{name: fl.stream([], time="ts", unit="us", delay="0 us") for name in ("web", "shop")})
    windows = union.key_by("k").window(fl.tumbling("10 us"))
    operator = windows.agg(n=fl.count(), total=fl.sum("v")).operator(store=store)
    came = {
        "web": [(3, "a", 1), (4, "b", 2), (21, "a", 4)],
        "shop": [(5, "b", 8), (6, "a", 16), (12, "c", 32), (22, "b", 64)],
    }
    operator.add_all([Arrival(CheckedBatch(batch_of(rows)), Said(name)) for name, rows in came.items()])
    assert said(operator.take()) == [("a", 0, 2, 17), ("b", 0, 2, 10), ("c", 10, 1, 32)]
    assert (store.read, store.written) == ([], [2, 2])
    operator.end()
    assert said(operator.take()) == [("a", 20, 1, 4), ("b", 20, 1, 64)]
    assert operator.accounting.accepted == 7


# ── what was kept and what is new ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=[1, 2, 1 << 14])
def grouped_one_by_one(request: pytest.FixtureRequest) -> Iterator[None]:
    """Slices of so many rows are grouped by themselves."""
    with rerouted(large_slice=request.param):
        yield


@pytest.mark.usefixtures("grouped_one_by_one")
@pytest.mark.parametrize("restarts", [False, True])
def test_what_was_kept_and_what_is_new_leave_as_one(restarts: bool) -> None:
    """Kept are windows 1, 3 and 6; new are 0, 1, 2, 3, 4 and 5; 6 stays."""
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
    preaggregator = preaggregator_of(shard.plan)
    assert preaggregator is not None
    shard.step([(1, "b", 1)], 0)
    batch = batch_of([(2, "b", 2), (3, "a", 4), (15, "c", 8), (16, "a", 16), (33, "a", 32)])
    times, slots, _ = preaggregator.divide(batch, 0)
    folded = preaggregator.read([preaggregator.aggregate(batch, times, slots)[0]])
    fired = shard.step([(4, "a", 64), (17, "b", 128), (25, "a", 256)], 30, preaggregated=folded)
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


@dataclass(frozen=True)
class Merged(CountRows):
    """A count that notes how many partials it is asked to merge."""

    rows: list[int] = field(default_factory=list)

    def merge(self, partials: list[Any], groups: Groups) -> list[Column]:
        self.rows.append(len(groups.codes))
        return super().merge(partials, groups)


def test_what_lies_after_all_that_was_kept_is_not_merged_again() -> None:
    """Kept is one partial of window 1. It is merged with those of windows 0 and 1 that are new, not with those of 2."""
    shard, count = Shard(aggregates=(("n", fl.count()),)), Merged()
    shard.plan = replace(shard.plan, aggregation=Aggregation((count,), FiringTime.END))
    shard.restart()
    shard.rows([(11, "a", 0)], 0)
    rows = shard.rows([(3, "a", 0), (12, "a", 0), (13, "b", 0), (21, "a", 0), (22, "b", 0), (23, "b", 0)], 30)
    assert list(zip(rows["k"].to_pylist(), rows["n"].to_pylist(), strict=True)) == [
        *[("a", 1), ("a", 2), ("b", 1)],
        *[("a", 1), ("b", 2)],
    ]
    assert count.rows == [4]


# ── a step that fails ────────────────────────────────────────────────────────────────────────────────────────────


class Narrow(fl.UserAggregate):
    """A sum whose state has no more room than int64."""

    state_type = pa.int64()
    output_type = pa.int64()

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return state + value

    def merge(self, left: int, right: int) -> int:
        return left + right

    def finish(self, state: int) -> int:
        return state


def test_what_a_failed_step_held_is_gone_with_it() -> None:
    """The total of window 1 leaves its type where what was kept of it meets what is new: nothing has happened."""
    shard = Shard(aggregates=(("n", fl.count()), ("total", Narrow("v"))))
    shard.step([(12, "a", 2**63 - 1)], 0)
    with pytest.raises(EngineError, match=r"Narrow: `merge` .* not fit"):
        shard.step([(3, "a", 1), (13, "a", 1), (25, "a", 1)], 20)
    assert shard.kept == [1]
    assert [held.rows.tolist() for _, held in shard.operator.content()] == [[], [1]]
    assert shard.step([], 20) == [("a", 10, 1, 2**63 - 1)]


# ── what stays readable ──────────────────────────────────────────────────────────────────────────────────────────


def test_expired_windows_stay_readable_whether_they_were_kept_or_not() -> None:
    shard = Shard(
        retention=fl.retention("30 us"), aggregates=(("n", fl.count()), ("total", fl.sum("v")), ("all", fl.list("v")))
    )
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
