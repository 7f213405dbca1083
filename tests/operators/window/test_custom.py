"""Windows that a function names: what it may return, and what is said of what it may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.operators.window.accepting import Shard
from tests.operators.window.stories import came, rows, story

import fanlight as fl
from fanlight.errors import EngineError
from fanlight.kernels.slicing.slicing import EVERY_WINDOW
from fanlight.operators.window.custom import windows_of
from fanlight.testing import Step


def named(said: Any) -> list[list[int]]:
    """Record, start and end of each pair, for records at 5 and 25."""
    kind = fl.custom(lambda times, batch: said)
    return [column.tolist() for column in windows_of(kind, Shard(kind).accepted((5, "a"), (25, "a")))]


def test_one_window_for_each_record() -> None:
    assert named(([0, 20], [10, 30])) == [[0, 1], [0, 20], [10, 30]]


def test_any_number_of_windows_with_the_records_they_are_for() -> None:
    assert named(([1, 1], [0, 20], [30, 30])) == [[1, 1], [0, 20], [30, 30]]


def test_times_may_be_of_numpy() -> None:
    starts, ends = np.array([0, 1], "M8[ms]"), np.array([1, 2], "M8[ms]")
    assert named((starts, ends)) == [[0, 1], [0, 1000], [1000, 2000]]


def test_a_window_without_end_is_the_last_that_a_watermark_closes() -> None:
    assert named(([0, 0], [10, 2**63 - 1]))[2] == [10, min(2**63 - 1, EVERY_WINDOW)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (([0], [10]), r"returned columns of \[1, 1\] rows for 2 records"),
        (([0, 2], [0, 0], [10, 10]), "named a row outside 0 to 1"),
        (([0, 20], [10, 20]), r"a window that ends \(20\) before it starts \(20\) or with it"),
        (([0.5, 1], [10, 20]), "raised TypeError"),
        (7, "raised TypeError"),
    ],
    ids=["too few", "no such record", "no length", "fractions", "no columns"],
)
def test_what_no_window_can_be_made_of_is_refused_by_name(said: Any, told: str) -> None:
    with pytest.raises(EngineError, match=told):
        named(said)


def tens_and_all(times: Any, _: Any) -> Any:
    """The ten that a time is in, and [0, 100) for those below 20; nothing for what is below zero."""
    tens = np.flatnonzero(times >= 0)
    low = np.flatnonzero((times >= 0) & (times < 20))
    starts = np.concatenate([times[tens] // 10 * 10, np.zeros(len(low), np.int64)])
    ends = np.concatenate([times[tens] // 10 * 10 + 10, np.full(len(low), 100)])
    return np.concatenate([tens, low]), starts, ends


def test_records_join_the_windows_they_are_given_that_have_not_expired() -> None:
    """At 10 the window [0, 10) is over: 7 counts in [0, 100) alone. -5 has none at all."""
    told = story(fl.custom(tens_and_all), came(5, -5), Step(watermark=10), came(7))
    assert rows(told)[0] == [("+I", 0, 10, [5]), ("+I", 0, 100, [5])]
    assert rows(told)[2] == [("-U", 0, 100, [5]), ("+U", 0, 100, [5, 7])]
    assert [reason.value for reason, _ in told.dead_letters] == ["no_window"]
    assert told.outcomes[2].missed_windows == 1


def test_a_record_whose_windows_have_all_expired_is_a_dead_letter() -> None:
    told = story(fl.custom(tens_and_all), came(5), Step(watermark=100), came(7))
    assert [reason.value for reason, _ in told.dead_letters] == ["expired"]
