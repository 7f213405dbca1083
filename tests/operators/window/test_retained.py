"""Expired windows that stay readable, by time and by count: those all keys share, and those each key has for itself.

Windows of ten: window 3 is [30, 40).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.accepting import Shard

import fanlight as fl
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.operators.window.panes import Content
from fanlight.operators.window.retained import Retained, forgotten_through
from fanlight.operators.window.unaligned.retained_by_key import RetainedByKey
from fanlight.state.memory import MemoryStore

TUMBLING = Shard(fl.tumbling("10 us"))
SESSIONS = Shard(fl.session("5 us"))


def held(*panes: tuple[int, str], starts: bool = False) -> Content:
    """What windows held, by their number or end and their key: one record of value 7 each."""
    windows = np.array([window for window, _ in panes], np.int64)
    ones, sevens = pa.array([1] * len(panes), pa.int64()), pa.array([7] * len(panes), pa.int64())
    keys = [pa.array([key for _, key in panes], pa.string())]
    return Content(windows, keys, np.ones(len(panes), np.int64), [ones, sevens], windows - 5 if starts else None)


def said(content: Content) -> list[tuple[int, str]]:
    return list(zip(content.windows.tolist(), content.keys[0].to_pylist(), strict=True))


class TestSharedByAllKeys:
    def kept(self, retention: fl.Retention, store: MemoryStore | None = None) -> Retained:
        found = Retained(TUMBLING.plan, MemoryStore() if store is None else store, retention)
        found.keep(held((1, "a"), (1, "b"), (2, "a"), (5, "a")))
        return found

    def test_what_they_held_is_read_as_it_was_window_by_window(self) -> None:
        kept = self.kept(fl.retention())
        assert said(kept.content(1, 2)) == [(1, "a"), (1, "b"), (2, "a")]
        assert [column.to_pylist() for column in kept.content(5, 9).values] == [[1], [7]]
        assert said(kept.content(3, 4)) == []

    def test_the_newest_so_many_windows_are_kept_however_many_keys_they_have(self) -> None:
        kept = self.kept(fl.retention(count=2))
        kept.trim(0)
        assert said(kept.content(0, 9)) == [(2, "a"), (5, "a")]

    @pytest.mark.parametrize(("watermark", "left"), [(49, [1, 1, 2, 5]), (50, [2, 5]), (60, [5]), (END_OF_TIME, [])])
    def test_a_window_is_kept_for_so_long_after_it_has_expired(self, watermark: int, left: list[int]) -> None:
        """Window 1 ends at 20 and is forgotten thirty later, at 50."""
        kept = self.kept(fl.retention("30 us"))
        kept.trim(watermark)
        assert [window for window, _ in said(kept.content(0, 9))] == left

    def test_who_starts_again_finds_them(self) -> None:
        store = MemoryStore()
        self.kept(fl.retention(), store)
        assert len(said(Retained(TUMBLING.plan, store, fl.retention()).content(0, 9))) == 4

    def test_windows_that_held_nothing_count_among_the_newest(self) -> None:
        """Of the expired windows 1 to 6 the last two are readable, so 4 is not, whatever it held."""
        assert self.kept(fl.retention(count=2)).forgotten(np.arange(1, 7), 0) == 4


class TestOfEachKey:
    def kept(self, retention: fl.Retention) -> RetainedByKey:
        found = RetainedByKey(SESSIONS.plan, MemoryStore(), retention)
        found.keep(held((20, "a"), (25, "b"), starts=True))
        found.keep(held((30, "a"), (40, "a"), starts=True))
        return found

    def test_what_they_held_is_read_by_their_ends(self) -> None:
        kept = self.kept(fl.retention())
        assert said(kept.content(20, 30)) == [(20, "a"), (25, "b"), (30, "a")]
        starts = kept.content(40, 40).starts
        assert starts is not None
        assert starts.tolist() == [35]

    def test_the_newest_so_many_of_each_key_are_kept(self) -> None:
        kept = self.kept(fl.retention(count=2))
        kept.trim(0)
        assert said(kept.content(0, 99)) == [(25, "b"), (30, "a"), (40, "a")]

    def test_a_window_is_kept_for_so_long_after_it_has_expired(self) -> None:
        """At 55 what ended at 25 or before is thirty past."""
        kept = self.kept(fl.retention("30 us"))
        kept.trim(55)
        assert said(kept.content(0, 99)) == [(30, "a"), (40, "a")]

    def test_when_all_are_forgotten_nothing_is_stored(self) -> None:
        store = MemoryStore()
        kept = RetainedByKey(SESSIONS.plan, store, fl.retention("30 us"))
        kept.keep(held((20, "a"), starts=True))
        kept.trim(END_OF_TIME)
        assert store.list("retained") == []


@pytest.mark.parametrize(
    ("fields", "retention", "through"),
    [
        ({}, fl.retention("10 us"), 3),
        ({"lateness": Duration(20)}, fl.retention("10 us"), 1),
        ({"lateness": Duration(20)}, fl.retention("0 us"), 2),
    ],
    ids=["time", "time and lateness", "lateness alone"],
)
def test_retention_counts_from_when_a_window_expires(
    fields: dict[str, Any], retention: fl.Retention, through: int
) -> None:
    """At 50, ten after it expired: window 3 ends at 40. With lateness it expires twenty later."""
    assert forgotten_through(Shard(fl.tumbling("10 us"), fields).plan, retention, 50) == through
