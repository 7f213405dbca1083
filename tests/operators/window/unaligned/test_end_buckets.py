"""Panes kept by where their windows end: a step takes up the buckets that it can need, and writes those that changed.

Buckets are ten wide: bucket 1 has the windows that end from 10 to 19.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.accepting import Shard
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.triggers import Trigger
from fanlight.operators.ingest.inputs import Signal
from fanlight.operators.window.firing.evaluate_triggers import TriggerEvaluator
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.firing.trigger import News
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.end_buckets import OWN, Buckets, width_for

THREE = ((15, "a"), (22, "b"), (28, "c"))


class Kept:
    """Panes of a trigger in a store, and the buckets over them."""

    def __init__(self, *panes: tuple[int, str], trigger: Trigger | None = None) -> None:
        self.shard = Shard(fl.session("5 us"), {"trigger": trigger or fl.at_watermark(early=fl.after(2))})
        self.store = WatchedStore("panes")
        self.evaluator = TriggerEvaluator(self.shard.plan, None, OWN)
        self.opened().save(self.table(*panes))
        self.store.commit()
        self.store.forget()

    def opened(self) -> Buckets:
        """The buckets, as whoever starts again finds them."""
        return Buckets(self.shard.plan, self.store, self.evaluator, 10)

    def table(self, *panes: tuple[int, str]) -> PaneTable:
        """New panes by the ends of their windows and their keys."""
        ends = np.array([end for end, _ in panes], np.int64)
        table = self.evaluator.shape.fresh(ends, [pa.array([key for _, key in panes], pa.string())])
        table.state["start"] = ends - 5
        return table

    @property
    def buckets(self) -> list[int]:
        return [address.part for address in self.store.list("panes")]


def names(table: PaneTable) -> list[str]:
    return sorted(table.keys[0].to_pylist())


def step(closed_before: int = 0, closed: int = 0, expired: int = 0, **more: object) -> StepTime:
    """Windows that end up to these instants have closed before, are closed now, have expired now."""
    moment = {"watermark": closed, "clock": START_OF_TIME, "arrived": 0, **more}
    return StepTime(closed_before=closed_before, closed=closed, expired_before=0, expired=expired, **moment)  # type: ignore[arg-type]


def test_a_pane_is_in_the_bucket_its_window_ends_in_and_is_read_as_it_was() -> None:
    kept = Kept(*THREE)
    assert kept.buckets == [1, 2]
    table = kept.opened().everything()
    assert (table.windows.tolist(), table.state["start"].tolist()) == ([15, 22, 28], [10, 17, 23])


def test_what_comes_takes_up_the_buckets_from_its_first_time_on() -> None:
    kept = Kept(*THREE)
    assert names(kept.opened().fetch(20)) == ["b", "c"]
    assert kept.store.read == [2]


def test_panes_with_certain_ends_are_looked_up_in_their_buckets() -> None:
    kept = Kept(*THREE, (99, "d"))
    assert names(kept.opened().fetch_ends(np.array([15, 99, 50]))) == ["a", "d"]


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        (step(closed=14), ["a"]),
        (step(closed_before=20, closed=21), ["b", "c"]),
        (step(closed_before=30, closed=50), []),
        (step(closed_before=30, closed=50, expired=12), ["a"]),
    ],
    ids=["bucket 1 closes", "bucket 2 closes", "all are closed already", "bucket 1 expires"],
)
def test_due_are_the_buckets_whose_windows_close_or_expire_in_this_step(moment: StepTime, found: list[str]) -> None:
    assert names(Kept(*THREE).opened().due(moment)) == found


def test_a_signal_moves_all_where_the_trigger_heeds_one() -> None:
    said = step(signal=Signal(on=True, said=True))
    assert names(Kept(*THREE, trigger=fl.on_signal()).opened().due(said)) == ["a", "b", "c"]
    assert names(Kept(*THREE).opened().due(said)) == []


def test_a_timer_moves_its_bucket_also_after_a_start() -> None:
    """A record came to b at clock 100: its delay is over at 107, and its bucket is taken up with c in it."""
    kept = Kept(trigger=fl.repeat(fl.after_delay("7 us")))
    table, came = kept.table(*THREE), np.array([0, 1, 0])
    kept.evaluator.trigger.told(table.state, came > 0, News(came, 100, came))
    buckets = kept.opened()
    buckets.save(table)
    for held in (buckets, kept.opened()):
        assert names(held.due(step(clock=106))) == []
        assert names(held.due(step(clock=107))) == ["b", "c"]


def test_only_what_changed_is_written() -> None:
    """a is put to rest as it was; b and c are at work, and c is saved."""
    kept = Kept(*THREE)
    buckets = kept.opened()
    table = buckets.fetch(0)
    buckets.rest(table.where(table.windows == 15))
    buckets.change(table.where(table.windows == 22))
    buckets.save(table.where(table.windows == 28))
    assert kept.store.written == [2]
    assert names(kept.opened().everything()) == ["a", "c"]


def test_a_pane_at_rest_is_taken_up_again_in_the_same_step_without_reading() -> None:
    kept = Kept(*THREE)
    buckets = kept.opened()
    buckets.rest(buckets.fetch(20))
    kept.store.forget()
    assert names(buckets.fetch(20)) == ["b", "c"]
    assert kept.store.read == []


def test_a_new_pane_joins_those_of_its_bucket() -> None:
    kept = Kept(*THREE)
    buckets = kept.opened()
    buckets.save(kept.table((25, "d")))
    assert names(kept.opened().fetch(20)) == ["b", "c", "d"]


def test_a_bucket_that_nothing_is_left_in_is_deleted() -> None:
    kept = Kept(*THREE)
    buckets = kept.opened()
    buckets.change(buckets.due(step(expired=15)))
    buckets.save(kept.table())
    assert kept.buckets == [2]
    assert names(buckets.everything()) == ["b", "c"]


def test_a_bucket_is_a_second_wide_at_least() -> None:
    assert [width_for(length) for length in (5, 999_999, 2_000_000)] == [1_000_000, 1_000_000, 2_000_000]
