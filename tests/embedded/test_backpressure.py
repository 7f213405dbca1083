"""Back-pressure: a downstream that refuses stops the operator, and no firing is lost, doubled or out of order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.operators.accounting import Accounting

S = 1_000_000

PIPELINE = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("10 s")).agg(n=fl.count())
"""Window number w is [10w, 10w + 10). A record at 10w and a watermark at its end make it fire."""


def starts(table: pa.Table | pa.RecordBatch) -> list[int]:
    """Which windows fired, by number."""
    return [int(row["window"]["start"].timestamp()) // 10 for row in table.to_pylist()]


def fire(operator: fl.WindowOperator, window: int) -> None:
    """One step in which one window gets its record, closes and fires."""
    operator.add([{"ts": 10 * window}], offset=window, watermark=10 * (window + 1) * S)


class Downstream:
    """Takes firings while it is open."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self.taken: list[int] = []

    def __call__(self, batch: pa.RecordBatch) -> bool:
        if self.is_open:
            self.taken += starts(batch)
        return self.is_open


class TestAWillingDownstream:
    def test_gets_every_firing_in_its_step(self) -> None:
        downstream = Downstream()
        operator = PIPELINE.operator(downstream=downstream)
        for window in range(3):
            fire(operator, window)
            assert downstream.taken == list(range(window + 1))
            assert operator.results().num_rows == 0

    def test_need_not_say_that_it_took_them(self) -> None:
        """Only False refuses: a function that returns nothing, as most do, takes what it is given."""
        taken: list[pa.RecordBatch] = []
        operator = PIPELINE.operator(downstream=taken.append)
        fire(operator, 0)
        fire(operator, 1)
        assert [starts(batch) for batch in taken] == [[0], [1]]

    def test_gets_what_before_send_made_of_them(self) -> None:
        taken: list[pa.RecordBatch] = []
        operator = PIPELINE.operator(
            downstream=taken.append, before_send=lambda batch: batch.append_column("again", batch["n"])
        )
        fire(operator, 0)
        assert taken[0].column("again").to_pylist() == [1]


class TestARefusal:
    def test_keeps_the_firings_of_its_step_and_refuses_the_next_records(self) -> None:
        """The step that was refused has happened; the one after it has not."""
        downstream = Downstream(is_open=False)
        operator = PIPELINE.operator(downstream=downstream)
        fire(operator, 0)
        assert starts(operator.results()) == [0]
        with pytest.raises(fl.BackPressure, match=r"refused 1 firings.*advance\(\).*take\(\).*no record was lost"):
            fire(operator, 1)
        assert operator.accounting.received == 1
        assert operator.watermark == 10 * S
        downstream.is_open = True
        operator.advance()
        fire(operator, 1)  # from the same position, and no duplicate
        assert downstream.taken == [0, 1]
        assert operator.accounting == Accounting(2, 2, 0, 0)

    def test_is_asked_about_again_quietly(self) -> None:
        downstream = Downstream(is_open=False)
        operator = PIPELINE.operator(downstream=downstream)
        fire(operator, 0)
        operator.advance()
        operator.advance()
        assert starts(operator.results()) == [0]
        downstream.is_open = True
        operator.advance()
        assert downstream.taken == [0]
        assert operator.results().num_rows == 0

    @pytest.mark.parametrize(
        "step",
        [
            lambda operator: operator.add([]),
            lambda operator: operator.advance(watermark=30 * S),
            lambda operator: operator.advance(clock=5),
            lambda operator: operator.advance(signal=True),
            lambda operator: operator.end(),
        ],
        ids=["add nothing", "watermark", "clock", "signal", "end"],
    )
    def test_stops_every_other_step(self, step: Callable[[fl.WindowOperator], None]) -> None:
        downstream = Downstream(is_open=False)
        operator = PIPELINE.operator(downstream=downstream)
        fire(operator, 0)
        with pytest.raises(fl.BackPressure):
            step(operator)
        assert (operator.watermark, operator.clock) == (10 * S, START_OF_TIME)  # no clock was ever told
        downstream.is_open = True
        operator.advance()
        step(operator)
        assert downstream.taken == [0]

    def test_may_come_in_the_middle(self) -> None:
        """Of three waiting batches the first is taken and the second refused; the first is not offered again."""
        offered: list[list[int]] = []
        answers = iter([True, False, True, True])

        def moody(batch: pa.RecordBatch) -> bool:
            offered.append(starts(batch))
            return next(answers)

        operator = PIPELINE.operator()
        for window in range(3):
            fire(operator, window)
        again = fl.WindowOperator.restore(PIPELINE.spec, operator.snapshot(), downstream=moody)
        again.advance()  # offers what waits, then takes a step, which offers what still waits
        assert again.results().num_rows == 0
        assert offered == [[0], [1], [1], [2]]

    def test_ends_when_somebody_takes_the_firings(self) -> None:
        downstream = Downstream(is_open=False)
        operator = PIPELINE.operator(downstream=downstream)
        fire(operator, 0)
        assert starts(operator.take()) == [0]
        fire(operator, 1)
        assert starts(operator.results()) == [1]
        operator.flush()
        downstream.is_open = True
        fire(operator, 2)
        assert downstream.taken == [2]  # what was taken by hand is not offered again

    def test_survives_a_restart(self) -> None:
        operator = PIPELINE.operator(downstream=Downstream(is_open=False))
        fire(operator, 0)
        downstream = Downstream()
        again = fl.WindowOperator.restore(PIPELINE.spec, operator.snapshot(), downstream=downstream)
        fire(again, 1)
        assert downstream.taken == [0, 1]

    def test_is_an_engine_error(self) -> None:
        assert issubclass(fl.BackPressure, fl.EngineError)

    @given(st.lists(st.booleans(), max_size=40))
    def test_loses_nothing_doubles_nothing_and_keeps_the_order(self, answers: list[bool]) -> None:
        """Whatever the downstream answers, in the end it has every window once, in order."""
        waiting = iter(answers)
        taken: list[int] = []

        def moody(batch: pa.RecordBatch) -> bool:
            willing = next(waiting, True)
            if willing:
                taken.extend(starts(batch))
            return willing

        operator = PIPELINE.operator(downstream=moody)
        for window in range(8):
            while True:
                try:
                    fire(operator, window)
                    break
                except fl.BackPressure:
                    operator.advance()
        while operator.results().num_rows:
            operator.advance()
        assert taken == list(range(8))
        assert operator.accounting.accepted == operator.accounting.received == 8


class TestADownstreamThatFails:
    def test_has_taken_nothing_and_the_step_is_not_done_twice(self) -> None:
        """Either the step did not happen and is done again, or it did and the records are duplicates then."""
        taken: list[int] = []
        failing = True

        def flaky(batch: pa.RecordBatch) -> None:
            if failing:
                raise ConnectionError("gone")
            taken.extend(starts(batch))

        operator = PIPELINE.operator(downstream=flaky)
        operator.add([{"ts": 0}], offset=0)
        with pytest.raises(ConnectionError, match="gone"):
            operator.add([{"ts": 11}], offset=1, watermark=10 * S)
        failing = False
        operator.advance()
        operator.add([{"ts": 11}], offset=1, watermark=10 * S)
        assert operator.windows().column("n").to_pylist() == [1]
        operator.end()
        assert taken == [0, 1]
        assert operator.accounting.accepted == 2


class TestCapacity:
    def test_a_full_operator_accepts_no_records(self) -> None:
        operator = PIPELINE.operator(capacity=2)
        fire(operator, 0)
        fire(operator, 1)
        with pytest.raises(fl.BackPressure, match=r"2 firings wait, and `capacity` is 2.*take\(\)"):
            fire(operator, 2)
        assert operator.accounting.received == 2
        assert starts(operator.take()) == [0, 1]
        fire(operator, 2)
        assert starts(operator.take()) == [2]

    def test_reading_makes_no_room_and_flushing_does(self) -> None:
        operator = PIPELINE.operator(capacity=1)
        fire(operator, 0)
        assert starts(operator.results()) == [0]
        with pytest.raises(fl.BackPressure):
            fire(operator, 1)
        operator.flush()
        fire(operator, 1)
        assert starts(operator.take()) == [1]

    def test_one_step_may_fire_more_than_that(self) -> None:
        """A step is never cut: its firings all leave, and the next one waits."""
        operator = PIPELINE.operator(capacity=1)
        operator.add([{"ts": 0}, {"ts": 10}, {"ts": 20}], watermark=30 * S)
        assert starts(operator.results()) == [0, 1, 2]
        with pytest.raises(fl.BackPressure, match="3 firings wait"):
            operator.add([{"ts": 30}])

    def test_what_a_downstream_takes_does_not_count(self) -> None:
        downstream = Downstream()
        operator = PIPELINE.operator(capacity=1, downstream=downstream)
        for window in range(4):
            fire(operator, window)
        assert downstream.taken == [0, 1, 2, 3]

    def test_firings_of_before_a_restart_count(self) -> None:
        operator = PIPELINE.operator()
        fire(operator, 0)
        again = fl.WindowOperator.restore(PIPELINE.spec, operator.snapshot(), capacity=1)
        with pytest.raises(fl.BackPressure):
            fire(again, 1)

    @pytest.mark.parametrize("capacity", [0, -1])
    def test_none_at_all_means_nothing(self, capacity: Any) -> None:
        with pytest.raises(fl.SpecError, match=rf"`capacity` \({capacity}\) must be at least 1 row. Leave it out"):
            PIPELINE.operator(capacity=capacity)
