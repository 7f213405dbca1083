"""The branches of the law's trigger table, a class a row, a test a column: told, ready, fired, reset, merged, timers.

The parts are mostly counts: `after(2)` is a part that has heard of so many records, and so shows whether it was told.
"""

from __future__ import annotations

import pytest

from fanlight.model.triggers import (
    AtWatermark,
    after,
    after_delay,
    all_of,
    any_of,
    at_expiry,
    at_watermark,
    every,
    in_order,
    on_signal,
    repeat,
    until,
)
from fanlight.operators.window.firing.trigger import NOT_DUE

from .running import Running

SILENT = (NOT_DUE, NOT_DUE)


class TestAnyOf:
    """Tells every unfinished part; ready when one is; the ready parts fire, and it has finished."""

    def test_ready_when_one_part_is(self) -> None:
        panes = Running(any_of(after(3), after_delay("5 us")), 3).told(3, 1, 1, clock=10)
        assert panes.ready(clock=14) == [True, False, False]
        assert panes.ready(clock=15) == [True, True, True]

    def test_fired_it_has_finished_in_the_panes_that_fired(self) -> None:
        panes = Running(any_of(after(3), after_delay("5 us")), 2).told(3, 1, clock=10)
        assert panes.fire(clock=10) == [True, False]
        assert panes.finished == [True, False]
        assert panes.due == [SILENT, (15, NOT_DUE)]

    def test_reset_all_its_parts_start_again(self) -> None:
        """Both parts were told of 2; after the reset 1 is enough for neither, and the delay counts from 20."""
        panes = Running(any_of(after(2), after_delay("5 us"))).told(2, clock=10)
        panes.fire(clock=10)
        panes.reset(0).told(1, clock=20)
        assert panes.ready(clock=24) == [False]
        assert panes.ready(clock=25) == [True]

    def test_merged_its_parts_merge_and_it_has_finished_if_one_of_them_has(self) -> None:
        panes = Running(any_of(after(3), after(9)), 4).told(1, 2, 3, 1)
        panes.fire()
        assert panes.merge(0, 0, 1, 1).finished == [False, True]
        assert panes.ready() == [True, False]

    def test_its_next_timer_is_the_earliest_of_its_parts(self) -> None:
        panes = Running(any_of(after_delay("5 us"), every("10 us"), every("4 us", domain="event")))
        assert panes.told(1, clock=7, least=1).due == [(10, 4)]


class TestAllOf:
    """Tells every unfinished part; ready when every unfinished one is; all of these fire, and it has finished."""

    def test_ready_when_every_part_is(self) -> None:
        panes = Running(all_of(after(3), after_delay("5 us")), 3).told(3, 2, 3, clock=10)
        assert panes.ready(clock=14) == [False, False, False]
        assert panes.ready(clock=15) == [True, False, True]

    def test_fired_it_and_its_parts_have_finished(self) -> None:
        panes = Running(all_of(after(1), after_delay("5 us")), 2).told(1, 0, clock=10)
        assert panes.fire(clock=15) == [True, False]
        assert panes.finished == [True, False]
        assert panes.due == [SILENT, SILENT]

    def test_reset_it_waits_for_all_parts_again(self) -> None:
        panes = Running(all_of(after(1), after(2))).told(2)
        panes.fire()
        assert panes.reset(0).told(1).ready() == [False]
        assert panes.told(1).ready() == [True]

    def test_merged_it_has_finished_if_all_its_parts_have(self) -> None:
        """Fired, all parts of a pane have finished, and so have those of what it becomes part of."""
        panes = Running(all_of(after(1), after(2)), 3).told(2, 1, 1)
        panes.fire()
        assert panes.merge(0, 0, 1).finished == [True, False]

    def test_a_part_that_has_finished_is_not_waited_for(self) -> None:
        """A signal that goes on does not finish its part, so one part of the fired pane has finished and one has not.

        What it is merged into has the same parts left, and waits for the signal alone: not for the window to expire.
        """
        panes = Running(all_of(at_expiry(), on_signal()), 2)
        assert panes.fire(expired=[True, False], signal=True) == [True, False]
        panes.merge(0, 0)
        assert panes.finished == [False]
        assert panes.ready() == [False]
        assert panes.ready(signal=True) == [True]


class TestInOrder:
    """Tells its first unfinished part, which alone is asked and fired; it has finished when the last part has."""

    def test_told_only_the_first_unfinished_part_hears(self) -> None:
        """Five records come to the first part; the second has heard of none of them when its turn comes."""
        panes = Running(in_order(after(1), after(2)), 2).told(5, 0)
        assert panes.fire() == [True, False]
        assert panes.told(1, 1).ready() == [False, True]
        assert panes.told(1, 0).ready() == [True, True]

    def test_fired_it_has_finished_with_its_last_part(self) -> None:
        panes = Running(in_order(after(1), after(2), after(1))).told(1)
        panes.fire()
        assert panes.finished == [False]
        panes.told(2).fire()
        assert panes.finished == [False]
        panes.told(1).fire()
        assert panes.finished == [True]

    def test_one_part_fires_at_a_time_though_two_are_ready(self) -> None:
        """Both would be ready by the signal; the second is asked at the next firing."""
        panes = Running(in_order(on_signal(), after(1)))
        assert panes.told(1).fire(signal=True, finish=True) == [True]
        assert panes.finished == [False]
        assert panes.ready(signal=True) == [False]

    def test_reset_it_begins_with_the_first_part(self) -> None:
        panes = Running(in_order(after(1), after(2))).told(1)
        panes.fire()
        assert panes.reset(0).told(1).ready() == [True]

    def test_merged_its_parts_merge_and_it_has_finished_if_the_last_has(self) -> None:
        """Left: the first part is used up, one of two came for the second. Right: nothing came. One more is enough."""
        panes = Running(in_order(after(1), after(2)), 2).told(1, 0)
        panes.fire()
        panes.told(1, 0).merge(0, 0)
        assert panes.finished == [False]
        assert panes.ready() == [False]
        assert panes.told(1).ready() == [True]

    def test_merged_with_one_that_has_finished(self) -> None:
        panes = Running(in_order(after(1), after(1)), 2).told(1, 0)
        panes.fire()
        panes.told(1, 0).fire()
        assert panes.merge(0, 0).finished == [True]

    def test_only_the_part_whose_turn_it_is_has_a_timer(self) -> None:
        panes = Running(in_order(after_delay("5 us"), every("10 us"))).told(1, clock=3)
        assert panes.due == [(8, NOT_DUE)]
        panes.fire(clock=8)
        assert panes.due == [SILENT]
        assert panes.told(1, clock=12).due == [(20, NOT_DUE)]


class TestRepeat:
    """Its part is told, asked and fired; when the part has finished it starts again."""

    def test_fired_its_part_starts_again_in_the_panes_that_fired(self) -> None:
        panes = Running(repeat(after(2)), 2).told(2, 1)
        assert panes.fire() == [True, False]
        assert panes.finished == [False, False]
        assert panes.told(1, 1).fire() == [False, True]
        assert panes.told(1, 0).fire() == [True, False]

    def test_a_part_that_goes_on_is_not_reset(self) -> None:
        """`every` remembers where it fired; reset, it would wait for a record first."""
        panes = Running(repeat(every("10 us"))).told(1, clock=4)
        panes.fire(clock=12)
        assert panes.due == [(20, NOT_DUE)]

    def test_reset_its_part_is(self) -> None:
        assert Running(repeat(after(2))).told(1).reset(0).told(1).ready() == [False]

    def test_merged_its_part_merges(self) -> None:
        panes = Running(repeat(after(2)), 2).told(1, 1).merge(0, 0)
        assert panes.ready() == [True]
        assert panes.finished == [False]

    def test_its_parts_timer_is_its_own(self) -> None:
        assert Running(repeat(after_delay("5 us"))).told(1, clock=3).due == [(8, NOT_DUE)]


class TestUntil:
    """Tells both; ready when either is. If the second is ready it fires and that was all; else the first fires."""

    def test_the_first_fires_until_the_second_does(self) -> None:
        panes = Running(until(repeat(after(1)), after(3)))
        fires = [panes.told(1).fire() for _ in range(4)]
        assert fires == [[True], [True], [True], [False]]
        assert panes.finished == [True]

    def test_the_second_alone_is_enough(self) -> None:
        panes = Running(until(repeat(after(5)), after(3))).told(3)
        assert panes.fire() == [True]
        assert panes.finished == [True]

    def test_where_both_are_ready_the_second_fires(self) -> None:
        """The first repeats and never finishes: that it has finished is the second's doing."""
        panes = Running(until(repeat(after(2)), after(2)), 2).told(2, 1)
        assert panes.fire() == [True, False]
        assert panes.finished == [True, False]

    def test_it_has_finished_when_the_first_has(self) -> None:
        panes = Running(until(after(1), after(9))).told(1)
        panes.fire()
        assert panes.finished == [True]

    def test_reset_both_are(self) -> None:
        panes = Running(until(repeat(after(2)), after(3))).told(3)
        panes.fire()
        assert panes.reset(0).told(1).ready() == [False]

    def test_merged_it_has_finished_if_either_part_has(self) -> None:
        panes = Running(until(repeat(after(1)), after(2)), 3).told(2, 0, 1)
        panes.fire()
        assert panes.merge(0, 0, 1).finished == [True, False]
        assert panes.told(1, 1).fire() == [False, True]
        assert panes.finished == [True, True]

    def test_both_have_timers(self) -> None:
        panes = Running(until(every("10 us"), after_delay("5 us"))).told(1, clock=2)
        assert panes.due == [(7, NOT_DUE)]


class TestAtWatermark:
    """Before its on-time firing the early part is told and asked, after it the late part; both repeat by themselves."""

    def test_ready_when_the_window_closes(self) -> None:
        assert Running(at_watermark(), 2).told(1, 1).ready(closed=[False, True]) == [False, True]

    def test_ready_before_when_the_early_part_is(self) -> None:
        panes = Running(at_watermark(early=after(2)), 3).told(2, 1, 1)
        assert panes.ready(closed=[False, False, True]) == [True, False, True]

    def test_fired_early_the_early_part_starts_again(self) -> None:
        panes = Running(at_watermark(early=after(2))).told(2)
        assert panes.fire() == [True]
        assert panes.told(1).fire() == [False]
        assert panes.told(1).fire() == [True]

    def test_the_on_time_firing_is_one_and_then_the_late_part_counts(self) -> None:
        """Two came before the close: they are none for the late part, which wants two of its own, and again two."""
        panes = Running(at_watermark(late=after(2))).told(2)
        assert panes.fire(closed=True) == [True]
        assert panes.ready(closed=True) == [False]
        assert [panes.told(1).fire(closed=True) for _ in range(4)] == [[False], [True], [False], [True]]
        assert panes.finished == [False]

    def test_after_the_on_time_firing_the_early_part_hears_nothing(self) -> None:
        panes = Running(at_watermark(early=after(1), late=after(3)))
        panes.told(1).fire(closed=True)
        assert panes.told(2).ready(closed=True) == [False]
        assert panes.told(1).ready(closed=True) == [True]

    def test_a_firing_at_the_close_is_the_on_time_one_though_the_early_part_is_ready_too(self) -> None:
        panes = Running(at_watermark(early=after(1), late=None)).told(1)
        assert panes.fire(closed=True) == [True]
        assert panes.finished == [True]

    def test_without_a_late_part_the_on_time_firing_is_the_last(self) -> None:
        panes = Running(at_watermark(late=None), 2).told(1, 1)
        panes.fire(closed=[True, False])
        assert panes.finished == [True, False]

    def test_with_a_late_part_that_finishes_it_goes_on(self) -> None:
        panes = Running(AtWatermark(late=at_expiry())).told(1)
        panes.fire(closed=True)
        assert panes.fire(closed=True, expired=True) == [True]
        assert panes.finished == [False]

    def test_reset_the_on_time_firing_is_forgotten_and_so_are_its_parts(self) -> None:
        panes = Running(at_watermark(early=after(2), late=after(2))).told(1)
        panes.fire(closed=True)
        panes.told(1).reset(0)
        assert panes.ready(closed=True) == [True]
        assert panes.told(1).ready() == [False]

    @pytest.mark.parametrize(
        ("closed", "past"),
        [(True, [True, False, False]), (False, [False, False, False])],
        ids=["the merged window is closed", "it is not: it may fire on time again"],
    )
    def test_merged_the_on_time_firing_is_past_if_it_was_in_all_and_the_window_is_closed(
        self, closed: bool, past: list[bool]
    ) -> None:
        """Group 0: in both panes; group 1: in one of two; group 2: in none. Not past is: ready when closed."""
        panes = Running(at_watermark(late=after(9)), 5).told(1, 1, 1, 1, 1)
        assert panes.fire(closed=[True, True, True, False, False]) == [True, True, True, False, False]
        panes.merge(0, 0, 1, 1, 2, closed=closed)
        assert panes.ready(closed=True) == [not was for was in past]

    def test_merged_without_a_late_part_it_has_finished_if_the_on_time_firing_is_past(self) -> None:
        panes = Running(at_watermark(late=None), 3).told(1, 1, 1)
        panes.fire(closed=[True, True, False])
        assert panes.merge(0, 1, 1, closed=True).finished == [True, False]

    def test_merged_its_parts_merge(self) -> None:
        panes = Running(at_watermark(early=after(2)), 2).told(1, 1).merge(0, 0)
        assert panes.ready() == [True]

    def test_merged_into_a_window_that_is_open_the_early_part_goes_on_where_it_was(self) -> None:
        """One of two came early; the on-time firing was not the early part's. One more is enough for it."""
        panes = Running(at_watermark(early=after(2), late=after(9))).told(1)
        panes.fire(closed=True)
        assert panes.merge(0, closed=False).told(1).ready() == [True]

    def test_merged_into_a_window_that_is_open_the_late_part_has_no_timer(self) -> None:
        panes = Running(at_watermark(late=after_delay("5 us"))).told(1, clock=4)
        panes.fire(closed=True)
        assert panes.told(1, clock=20).due == [(25, NOT_DUE)]
        assert panes.merge(0, closed=False).due == [SILENT]

    def test_the_part_that_is_not_active_has_no_timer(self) -> None:
        """The early period runs before the close, the late delay after it."""
        panes = Running(at_watermark(early=every("10 us"), late=after_delay("5 us"))).told(1, clock=4)
        assert panes.due == [(10, NOT_DUE)]
        panes.fire(clock=6, closed=True)
        assert panes.due == [SILENT]
        assert panes.told(1, clock=20).due == [(25, NOT_DUE)]

    def test_finished_it_has_no_timer(self) -> None:
        panes = Running(at_watermark(early=every("10 us"), late=None)).told(1, clock=4)
        panes.fire(closed=True)
        assert panes.due == [SILENT]


def test_a_group_of_no_panes_is_a_new_pane() -> None:
    """Three groups, and panes in the last alone: the others have heard of nothing, and nothing of them is past."""
    panes = Running(at_watermark(early=after(2), late=None)).told(2)
    panes.fire(closed=True)
    panes.merge(2, closed=[True, True, True])
    assert panes.finished == [False, False, True]
    assert panes.told(1, 2, 0).ready() == [False, True, False]
