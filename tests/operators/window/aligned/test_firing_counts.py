"""How often panes of closed windows have fired: noted only where it was not once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from tests.operators.window.accepting import Shard

import fanlight as fl
from fanlight.operators.window.aligned.firing_counts import FiringCounts
from fanlight.state.memory import MemoryStore

PLAN = Shard(fl.tumbling("10 us")).plan
Pane = tuple[int, str | None]


def columns(panes: tuple[Pane, ...]) -> tuple[np.ndarray, list[pa.Array]]:
    return np.array([window for window, _ in panes], np.int64), [pa.array([key for _, key in panes], pa.string())]


def of(counts: FiringCounts, *panes: Pane) -> list[int]:
    """How often panes have fired; what nothing is noted of has fired once."""
    return counts.of(*columns(panes), np.ones(len(panes), np.int64)).tolist()


def noted(store: MemoryStore) -> FiringCounts:
    """Window 1: a twice, null four times. Window 2: a three times."""
    counts = FiringCounts(PLAN, store)
    counts.note(*columns(((1, "a"), (1, None), (2, "a"))), np.array([2, 4, 3]))
    return counts


def test_what_is_noted_is_said_and_of_others_what_the_caller_says() -> None:
    counts = noted(MemoryStore())
    assert of(counts, (1, "a"), (1, "b"), (1, None), (2, "a"), (3, "a")) == [2, 1, 4, 3, 1]


def test_a_later_note_takes_the_place_of_the_one_before_and_leaves_the_others() -> None:
    counts = noted(MemoryStore())
    counts.note(*columns(((1, "a"), (1, "b"))), np.array([5, 2]))
    assert of(counts, (1, "a"), (1, "b"), (1, None), (2, "a")) == [5, 2, 4, 3]


def test_expired_windows_are_forgotten() -> None:
    store = MemoryStore()
    counts = noted(store)
    counts.retire(1)
    assert [address.part for address in store.list("panes")] == [2]
    assert of(counts, (1, "a"), (2, "a")) == [1, 3]


def test_who_starts_again_finds_them() -> None:
    store = MemoryStore()
    noted(store)
    assert of(FiringCounts(PLAN, store), (1, None), (2, "a")) == [4, 3]
