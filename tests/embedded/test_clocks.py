"""Any clock counts, whenever it is; where none was told there is none."""

from __future__ import annotations

import pytest

import fanlight as fl
from fanlight.model.reason import Reason
from fanlight.testing import Step, oracle

from .orders import BY_HAND, WINDOWED, S, order, reasons

CLOCKS = {"hours before 1970": -50_000 * S, "just before it": -4 * S, "at 0": 0, "at 1": 1, "later": 10**9 * S}


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS.keys())
class TestAnyClock:
    def test_it_is_told_and_shown(self, clock: int) -> None:
        operator = WINDOWED.agg(n=fl.count()).operator()
        operator.add([order(1)], clock=clock, watermark=10 * S)
        assert operator.clock == clock
        (row,) = operator.take().to_pylist()
        assert row["pane"]["clock"].timestamp() * S == pytest.approx(clock)

    @pytest.mark.parametrize("trigger", [fl.after_delay("3 s"), fl.every("3 s")], ids=["after_delay", "every"])
    def test_timers_go_by_it(self, trigger: fl.Trigger, clock: int) -> None:
        """Told at a clock, due three seconds later (or, every three, with the next multiple) and not before."""
        spec = BY_HAND.window(fl.tumbling("10 s")).trigger(fl.repeat(trigger)).agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec)
        operator.add([order(1)], clock=clock)
        assert operator.take().num_rows == 0
        operator.advance(clock=clock + 3 * S)
        assert operator.take().column("n").to_pylist() == [1]

    def test_windows_follow_it(self, clock: int) -> None:
        window = fl.tumbling("10 s", domain="processing")
        operator = BY_HAND.window(window).agg(n=fl.count()).operator()
        operator.add([order(1)], clock=clock)
        operator.advance(clock=clock + 10 * S)
        (row,) = operator.take().to_pylist()
        assert row["window"]["start"].timestamp() == clock // (10 * S) * 10

    def test_it_outlives_a_snapshot(self, clock: int) -> None:
        spec = WINDOWED.agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec)
        operator.add([order(1)], clock=clock)
        assert fl.WindowOperator.restore(spec, operator.snapshot()).clock == clock


def test_where_none_was_told_rows_say_so() -> None:
    operator = WINDOWED.agg(n=fl.count()).operator()
    operator.add([order(1)], watermark=10 * S)
    assert [row["pane"]["clock"] for row in operator.take().to_pylist()] == [None]


def test_what_came_before_any_clock_came_before_every_clock() -> None:
    """So a delay is over with the first clock that is told."""
    spec = BY_HAND.window(fl.tumbling("10 s")).trigger(fl.after_delay("3 s")).agg(n=fl.count()).spec
    operator = fl.WindowOperator(spec)
    operator.add([order(1)])
    operator.advance(clock=-(10**6) * S)
    assert operator.take().column("n").to_pylist() == [1]


def test_in_processing_time_a_record_without_a_clock_has_no_time() -> None:
    spec = BY_HAND.window(fl.tumbling("10 s", domain="processing")).agg(n=fl.count()).spec
    operator, expected = fl.WindowOperator(spec), oracle.Oracle(spec)
    operator.add([order(1)])
    assert reasons(operator) == ["null_time"]
    assert [reason for reason, _ in expected.step(Step(records=(order(1),))).dead_letters] == [Reason.NULL_TIME]


def test_a_column_that_gets_its_type_does_not_lose_the_clock_that_came_with_it() -> None:
    operator = WINDOWED.agg(n=fl.count()).operator()
    operator.add([{**order(1), "note": None}], clock=1 * S)
    operator.add([{**order(2), "note": "x"}], clock=5 * S)
    assert operator.clock == 5 * S


def test_the_first_records_are_judged_by_the_clock_before_them() -> None:
    """Also where that clock came before any columns were known: at clock 1 the instant 0 is over, and 1 is not."""
    over = fl.Semantics(clock_instant_is_over=True)
    spec = BY_HAND.window(fl.session("1 us", domain="processing")).semantics(over).agg(n=fl.count()).spec
    operator = fl.WindowOperator(spec)
    operator.advance(clock=0)
    assert (operator.watermark, operator.clock) == (1, 0)
    operator.add([order(1)], clock=1)
    operator.end()
    assert operator.take().column("n").to_pylist() == [1]
    assert reasons(operator) == []


def test_an_input_is_silent_from_the_first_clock_on() -> None:
    """It spoke before there was a clock, so its silence is not as long as the clock is old."""
    idle = fl.several({"left": fl.Explicit(), "right": fl.Explicit()}, idle="5 s")
    stream = fl.stream([], time="ts", unit="s", watermark=idle).window(fl.tumbling("10 s"))
    operator = stream.agg(n=fl.count()).operator()
    operator.add([order(1)], source="left", watermark=20 * S)
    operator.advance(clock=10**9 * S)
    assert operator.watermark < 10 * S  # right has said nothing, and may still
    operator.advance(source="left", watermark=21 * S, clock=(10**9 + 6) * S)
    assert operator.watermark == 21 * S
