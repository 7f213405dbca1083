"""The leaves of the law's trigger table, a class a row and a test a column: told, ready, fired, reset, merged, timers.

Several panes run side by side, so that what happens to one is seen not to happen to the other.
"""

from __future__ import annotations

import pytest

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.triggers import after, after_delay, at_expiry, every, never, on_signal
from fanlight.operators.window.firing.trigger import NOT_DUE

from .running import Running

SILENT = (NOT_DUE, NOT_DUE)
"""No timer by the clock, none by the watermark."""


class TestAfter:
    """`After(3)`: count += n; ready when count >= 3; fires once; reset sets the count to 0."""

    def test_told_the_counts_add_up_pane_by_pane(self) -> None:
        panes = Running(after(3), 3).told(2, 3, 0)
        assert panes.ready() == [False, True, False]
        assert panes.told(1, 0, 2).ready() == [True, True, False]

    def test_ready_with_more_than_enough(self) -> None:
        assert Running(after(3)).told(7).ready() == [True]

    def test_fired_it_has_finished_in_the_panes_that_fired_only(self) -> None:
        panes = Running(after(3), 2).told(3, 2)
        assert panes.fire() == [True, False]
        assert panes.finished == [True, False]

    def test_reset_it_counts_from_zero(self) -> None:
        panes = Running(after(3), 2).told(3, 2)
        panes.fire()
        panes.reset(0, 1).told(2, 3)
        assert panes.finished == [False, False]
        assert panes.ready() == [False, True]

    def test_merged_counts_add_and_it_has_finished_if_it_had_in_one(self) -> None:
        """Panes of 1 and 2 become one of 3; one of 3 that has fired and one of 1 become one that has finished."""
        panes = Running(after(3), 4).told(1, 2, 3, 1)
        assert panes.fire() == [False, False, True, False]
        assert panes.merge(0, 0, 1, 1).finished == [False, True]
        assert panes.ready() == [True, False]

    def test_it_has_no_timer(self) -> None:
        assert Running(after(3)).told(3).due == [SILENT]


class TestAfterDelay:
    """`AfterDelay(5)`: remembers the clock of the first record; ready at that clock + 5; fires once; reset forgets."""

    def test_told_it_remembers_the_first_clock_of_each_pane(self) -> None:
        panes = Running(after_delay("5 us"), 3).told(1, 0, 0, clock=10).told(1, 1, 0, clock=12)
        assert panes.due == [(15, NOT_DUE), (17, NOT_DUE), SILENT]

    @pytest.mark.parametrize(("clock", "is_ready"), [(14, False), (15, True), (99, True)])
    def test_ready_when_the_delay_is_over(self, clock: int, is_ready: bool) -> None:
        assert Running(after_delay("5 us")).told(1, clock=10).ready(clock=clock) == [is_ready]

    @pytest.mark.parametrize(("clock", "is_ready"), [(15, False), (16, True)])
    def test_ready_strictly_after_it_where_the_semantics_say_so(self, clock: int, is_ready: bool) -> None:
        assert Running(after_delay("5 us"), delay_is_strict=True).told(1, clock=10).ready(clock=clock) == [is_ready]

    def test_never_ready_where_no_record_came(self) -> None:
        assert Running(after_delay("5 us")).ready(clock=END_OF_TIME) == [False]

    def test_fired_it_has_finished_and_its_timer_is_off(self) -> None:
        panes = Running(after_delay("5 us"), 2).told(1, 0, clock=10).told(0, 1, clock=12)
        assert panes.fire(clock=16) == [True, False]
        assert panes.finished == [True, False]
        assert panes.due == [SILENT, (17, NOT_DUE)]

    def test_reset_it_forgets(self) -> None:
        panes = Running(after_delay("5 us"), 2).told(1, 1, clock=10).reset(0)
        assert panes.due == [SILENT, (15, NOT_DUE)]
        assert panes.told(1, 1, clock=20).due == [(25, NOT_DUE), (15, NOT_DUE)]

    def test_merged_the_least_clock_counts(self) -> None:
        """12 and 10 become 10; one that remembers nothing is no clock; two of those remember nothing."""
        panes = Running(after_delay("5 us"), 6).told(0, 1, 0, 0, 0, 0, clock=10).told(1, 0, 0, 1, 0, 0, clock=12)
        assert panes.merge(0, 0, 1, 1, 2, 2).due == [(15, NOT_DUE), (17, NOT_DUE), SILENT]

    def test_merged_it_has_finished_if_it_had_in_one(self) -> None:
        panes = Running(after_delay("5 us"), 2).told(1, 0, clock=10)
        panes.fire(clock=15)
        assert panes.told(0, 1, clock=16).merge(0, 0).finished == [True]

    def test_any_clock_counts_but_the_start_of_time_is_none(self) -> None:
        """A record that comes before any clock was told counts from then on: one tick is remembered, not nothing."""
        panes = Running(after_delay("5 us")).told(1, clock=START_OF_TIME)
        assert panes.ready(clock=START_OF_TIME) == [False]
        assert panes.ready(clock=0) == [True]


class TestEveryByTheClock:
    """`Every(10)`: remembers the clock of the first record; ready when a multiple of 10 was passed; goes on."""

    def test_told_the_next_multiple_after_the_first_clock_is_waited_for(self) -> None:
        panes = Running(every("10 us"), 3).told(1, 0, 0, clock=4).told(1, 1, 0, clock=20)
        assert panes.due == [(10, NOT_DUE), (30, NOT_DUE), SILENT]

    @pytest.mark.parametrize(("clock", "is_ready"), [(9, False), (10, True), (25, True)])
    def test_ready_when_the_clock_is_at_a_multiple_or_past_it(self, clock: int, is_ready: bool) -> None:
        assert Running(every("10 us")).told(1, clock=4).ready(clock=clock) == [is_ready]

    def test_multiples_lie_before_1970_too(self) -> None:
        assert Running(every("10 us")).told(1, clock=-14).due == [(-10, NOT_DUE)]

    def test_fired_it_goes_on_from_the_clock_it_fired_at(self) -> None:
        """At 25 it fires for 10 and 20 together, and then waits for 30."""
        panes = Running(every("10 us"), 2).told(1, 0, clock=4)
        assert panes.fire(clock=25) == [True, False]
        assert panes.finished == [False, False]
        assert panes.ready(clock=29) == [False, False]
        assert panes.due == [(30, NOT_DUE), SILENT]

    def test_reset_it_forgets(self) -> None:
        assert Running(every("10 us"), 2).told(1, 1, clock=4).reset(1).due == [(10, NOT_DUE), SILENT]

    def test_merged_the_least_counts(self) -> None:
        panes = Running(every("10 us"), 3).told(0, 1, 0, clock=4).told(1, 0, 0, clock=17)
        assert panes.merge(0, 0, 1).due == [(10, NOT_DUE), SILENT]

    def test_at_the_end_of_time_it_fires_and_there_is_no_multiple_left(self) -> None:
        panes = Running(every("10 us")).told(1, clock=4)
        assert panes.fire(clock=END_OF_TIME) == [True]
        assert panes.due == [SILENT]
        assert panes.ready(clock=END_OF_TIME) == [False]


class TestEveryByTheWatermark:
    """`Every(10, "event")`: remembers the least time among the records; the watermark takes the clock's place."""

    def test_told_the_least_time_counts_and_no_clock(self) -> None:
        panes = Running(every("10 us", domain="event"), 2).told(1, 0, clock=77, least=14)
        assert panes.due == [(NOT_DUE, 20), SILENT]

    def test_told_again_the_first_bundle_counts(self) -> None:
        assert Running(every("10 us", domain="event")).told(1, least=14).told(1, least=3).due == [(NOT_DUE, 20)]

    @pytest.mark.parametrize(("watermark", "is_ready"), [(19, False), (20, True), (40, True)])
    def test_ready_when_the_watermark_is_there(self, watermark: int, is_ready: bool) -> None:
        panes = Running(every("10 us", domain="event")).told(1, least=14)
        assert panes.ready(watermark=watermark, clock=1000) == [is_ready]

    @pytest.mark.parametrize(("watermark", "is_ready"), [(20, False), (21, True)])
    def test_ready_when_it_is_past_where_the_semantics_say_so(self, watermark: int, is_ready: bool) -> None:
        panes = Running(every("10 us", domain="event"), event_timer_is_strict=True).told(1, least=14)
        assert panes.ready(watermark=watermark) == [is_ready]

    def test_fired_it_goes_on_from_the_watermark(self) -> None:
        panes = Running(every("10 us", domain="event")).told(1, least=14)
        assert panes.fire(watermark=38) == [True]
        assert panes.due == [(NOT_DUE, 40)]

    def test_fired_strictly_it_goes_on_from_the_instant_before(self) -> None:
        """At watermark 30 the last instant over is 29: it has fired for 20, and past 30 the watermark is at 31."""
        panes = Running(every("10 us", domain="event"), event_timer_is_strict=True).told(1, least=14)
        assert panes.fire(watermark=30) == [True]
        assert panes.due == [(NOT_DUE, 31)]

    def test_strictness_is_no_matter_of_the_clock(self) -> None:
        panes = Running(every("10 us"), event_timer_is_strict=True).told(1, clock=4)
        assert panes.ready(clock=10) == [True]


class TestAtExpiry:
    """`AtExpiry`: ready when the window has expired; fires once."""

    def test_ready_where_the_window_has_expired(self) -> None:
        assert Running(at_expiry(), 2).told(1, 1).ready(closed=True, expired=[False, True]) == [False, True]

    def test_fired_it_has_finished_until_it_is_reset(self) -> None:
        panes = Running(at_expiry(), 2)
        panes.fire(expired=[True, False])
        assert panes.finished == [True, False]
        assert panes.reset(0).finished == [False, False]

    def test_merged_it_has_finished_if_it_had_in_one(self) -> None:
        panes = Running(at_expiry(), 3)
        panes.fire(expired=[True, False, False])
        assert panes.merge(0, 0, 1).finished == [True, False]


class TestOnSignal:
    """`OnSignal`: ready while the signal is on; it finishes only if the signal says so."""

    def test_ready_while_the_signal_is_on(self) -> None:
        panes = Running(on_signal(), 2)
        assert panes.ready() == [False, False]
        assert panes.ready(signal=True) == [True, True]

    def test_fired_it_goes_on(self) -> None:
        panes = Running(on_signal())
        assert panes.fire(signal=True) == [True]
        assert panes.finished == [False]
        assert panes.fire(signal=True) == [True]

    def test_fired_by_the_last_signal_it_has_finished(self) -> None:
        panes = Running(on_signal(), 2)
        panes.fire(signal=True, finish=True)
        assert panes.finished == [True, True]
        assert panes.reset(1).finished == [True, False]
        assert panes.merge(0, 0).finished == [True]


class TestNever:
    """`Never`: not ready, whatever happens; it keeps nothing."""

    def test_it_is_not_ready_at_the_end_of_everything(self) -> None:
        panes = Running(never(), 2).told(9, 9)
        moment = {"clock": END_OF_TIME, "watermark": END_OF_TIME, "closed": True, "expired": True, "signal": True}
        assert panes.ready(**moment) == [False, False]
        assert panes.finished == [False, False]
        assert panes.due == [SILENT, SILENT]

    def test_it_keeps_nothing(self) -> None:
        assert Running(never()).trigger.columns == {}
        assert Running(never(), 2).merge(0, 0).finished == [False]
