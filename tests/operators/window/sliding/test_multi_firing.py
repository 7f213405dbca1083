"""Sliding windows that can fire more than once. They reach ten back, both ends inside, and every record fires.

window of 100    [90--------100]      its bounds are [90, 101)
window of 105         [95--------105]
"""

from __future__ import annotations

import numpy as np
from tests.operators.window.stories import Row, came, indexes, rows, story

import fanlight as fl
from fanlight.kernels.sliding_windows import WindowRanges
from fanlight.model.firing import Accumulation
from fanlight.operators.window.sliding.multi_firing import Rows
from fanlight.testing import Step

from .test_row_log import SHARD, logged

TEN = fl.sliding("10 us")
ACCUMULATING = {"accumulation": Accumulation.ACCUMULATING}


def said(*steps: Step, anchor: str = "trailing") -> list[list[Row]]:
    return rows(story(fl.sliding("10 us", anchor), *steps, **ACCUMULATING))  # type: ignore[arg-type]


def test_a_record_defines_a_window_that_holds_all_from_ten_before_it() -> None:
    assert said(came(100), came(105), came(111)) == [
        [("+I", 90, 101, [100])],
        [("+I", 95, 106, [100, 105])],
        [("+I", 101, 112, [105, 111])],
    ]


def test_a_record_that_comes_late_joins_the_windows_that_hold_it_and_defines_its_own() -> None:
    """98 is in the windows of 100 and 105, and its own holds 98 alone."""
    assert said(came(100, 105), came(98))[1] == [
        ("+I", 88, 99, [98]),
        ("+U", 90, 101, [98, 100]),
        ("+U", 95, 106, [98, 100, 105]),
    ]


def test_a_second_record_of_one_time_is_in_the_same_window() -> None:
    told = story(TEN, came(100), came(100))
    assert rows(told) == [[("+I", 90, 101, [100])], [("-U", 90, 101, [100]), ("+U", 90, 101, [100, 100])]]
    assert indexes(told) == [[0], [1, 1]]


def test_forward_windows_start_with_their_record() -> None:
    """100 is in its own window only; 105 is in that of 100 too."""
    assert said(came(100), came(105), anchor="forward") == [
        [("+I", 100, 111, [100])],
        [("+U", 100, 111, [100, 105]), ("+I", 105, 116, [105])],
    ]


def test_both_a_window_after_a_record_is_there_once_it_holds_one() -> None:
    """After 100 comes [101, 112): nothing is in it before 105 comes. After 105 comes [106, 117), which is empty."""
    assert said(came(100), came(105), anchor="both") == [
        [("+I", 90, 101, [100])],
        [("+I", 95, 106, [100, 105]), ("+I", 101, 112, [105])],
    ]


def test_both_a_record_can_bring_a_window_into_being_that_it_is_not_in() -> None:
    """95 comes after 100: [96, 107) follows it and holds 100. The windows of 100 hold 95 as well."""
    assert said(came(100), came(95), anchor="both")[1] == [
        ("+I", 85, 96, [95]),
        ("+U", 90, 101, [95, 100]),
        ("+I", 96, 107, [100]),
    ]


def test_a_window_that_comes_into_being_is_told_of_every_record_it_holds() -> None:
    """Three are enough: the window of 105 is new, and holds three at once."""
    told = story(TEN, came(100), came(102), came(105), trigger=fl.at_watermark(early=fl.after(3)), **ACCUMULATING)  # type: ignore[arg-type]
    assert rows(told) == [[], [], [("+I", 95, 106, [100, 102, 105])]]


def test_a_window_that_has_expired_takes_no_more() -> None:
    """At 101 the window of 100 is over; 99 is in that of 105 still, and counts there alone."""
    told = story(TEN, came(100, 105), Step(watermark=101), came(99), **ACCUMULATING)  # type: ignore[arg-type]
    assert rows(told)[2] == [("+U", 95, 106, [99, 100, 105])]
    assert told.outcomes[2].missed_windows == 1


def test_a_record_all_of_whose_windows_have_finished_is_a_dead_letter() -> None:
    once = {"trigger": fl.in_order(fl.after(1)), "lateness": fl.Duration(50), **ACCUMULATING}
    told = story(TEN, came(100), came(100), **once)  # type: ignore[arg-type]
    assert [reason.value for reason, _ in told.dead_letters] == ["finished"]


class TestRows:
    """Known are a at 100 and b at 100; a bundle brings a at 105 and at 95."""

    def of(self) -> Rows:
        rows = logged((100, "a"), (100, "b"), (105, "a"), (95, "a"))
        return Rows.of(np.array([0, 1, 0, 0]), rows, before=2)

    def test_they_lie_by_key_and_time_and_keys_to_which_nothing_came_are_left_out(self) -> None:
        rows = self.of()
        assert (rows.codes.tolist(), rows.times.tolist()) == ([0, 0, 0], [95, 100, 105])

    def test_it_is_known_which_are_new(self) -> None:
        """95 was the second of the bundle, 105 the first; before the end of the rows both have been seen."""
        rows = self.of()
        assert (rows.new.tolist(), rows.came.tolist()) == ([0, 2], [1, 0])
        assert rows.seen.tolist() == [0, 1, 1, 2]

    def test_records_that_are_in_none_of_some_windows(self) -> None:
        """A window over the first two rows holds 95, the second of the bundle; 105 is outside."""
        assert self.of().outside(windows((0, 2))).tolist() == [True, False]

    def test_a_known_window_is_told_of_the_new_records_and_a_new_one_of_all(self) -> None:
        """Both hold all three rows: two of them are new, at 95 and 105; the least time of either is 95."""
        came, least = self.of().brought(SHARD.plan.aggregation, windows((0, 3), (0, 3)), np.array([True, False]))
        assert came.rows.tolist() == [2, 3]
        assert SHARD.plan.aggregation.finish(came)[1].to_pylist() == [200, 300]
        assert least.tolist() == [95, 95]


def windows(*ranges: tuple[int, int]) -> WindowRanges:
    """Windows over these rows; where they lie in time does not matter here."""
    low, high = (np.array([one[side] for one in ranges]) for side in (0, 1))
    nowhere = np.zeros(len(ranges), np.int64)
    return WindowRanges(nowhere, nowhere, nowhere, low, high)
