"""Writing everything down and going on from it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

from .orders import BY_HAND, TOTALS, WINDOWED, S, counts, order, reasons, said


class TestSnapshots:
    def test_an_operator_goes_on_where_it_was_written_down(self) -> None:
        """Open windows, a firing and a dead letter nobody took, positions, watermark, clock: all of it is there."""
        operator = TOTALS.operator()
        operator.add([order(1), order(None), order(12)], source="left", offset=0, watermark=10 * S, clock=5 * S)
        again = fl.WindowOperator.restore(TOTALS.spec, operator.snapshot())
        assert again.results().to_pylist() == operator.results().to_pylist() != []
        assert again.dead_letters.to_pylist() == operator.dead_letters.to_pylist() != []
        assert again.windows().to_pylist() == operator.windows().to_pylist()
        assert (again.watermark, again.clock, counts(again)) == (10 * S, 5 * S, (3, 2, 0, 1))
        for each in (operator, again):
            each.add([order(12), order(13)], source="left", offset=2)  # 2 again, and 3
            each.add([order(2)], source="right", offset=2)  # another source: new, and late
            each.end()
        assert again.results().to_pylist() == operator.results().to_pylist()
        assert said(again.take()) == [
            ("tea", 0, "ON_TIME", 1),
            ("tea", 0, "LATE", 2),
            ("tea", 10, "ON_TIME", 2),
        ]
        assert counts(again) == counts(operator) == (6, 4, 1, 1)

    def test_taking_one_changes_nothing(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1), order(None)], watermark=10 * S)
        first = operator.snapshot()
        assert operator.snapshot() == first
        assert fl.WindowOperator.restore(TOTALS.spec, first).snapshot() == first
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]
        assert reasons(operator) == ["null_time"]

    def test_what_was_taken_is_not_in_it(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1), order(None)], watermark=10 * S)
        operator.take()
        operator.take_dead_letters()
        again = fl.WindowOperator.restore(TOTALS.spec, operator.snapshot())
        assert again.results().num_rows == again.dead_letters.num_rows == 0

    def test_the_signal_is_in_it(self) -> None:
        """It was turned on, and is on until the next word."""
        spec = WINDOWED.trigger(fl.repeat(fl.on_signal())).agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec)
        operator.add([order(1)])
        operator.advance(signal=True)
        assert said(operator.take()) == [("tea", 0, "EARLY", 1)]
        again = fl.WindowOperator.restore(spec, operator.snapshot())
        again.add([order(2)])
        assert said(again.take()) == [("tea", 0, "EARLY", 2)]

    def test_another_pipeline_is_refused_and_every_difference_is_told(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1)])
        other = BY_HAND.window(fl.tumbling("15 s")).agg(n=fl.count()).spec
        with pytest.raises(fl.StateError, match="written by another pipeline") as refused:
            fl.WindowOperator.restore(other, operator.snapshot())
        told = str(refused.value).splitlines()
        assert "  window: tumbling 10 s before, tumbling 15 s now" in told
        assert "  aggregates.total: sum v before, none now" in told
        assert told[-1] == "Declare the pipeline as it was. Or start without it."

    @pytest.mark.parametrize(
        "function",
        [
            lambda: fl.reduce("v", lambda left, right: left + right),
            lambda: fl.fold("v", 0, lambda state, value: state + value, pa.int64(), merge=lambda a, b: a + b),
        ],
        ids=["reduce", "fold"],
    )
    def test_a_pipeline_with_a_function_in_it_is_its_own(self, function: Any) -> None:
        """Declared twice, as a process that starts again does it; a function is known by its name."""
        one, again = (WINDOWED.agg(own=function()).spec for _ in range(2))
        operator = fl.WindowOperator(one)
        operator.add([order(1, v=3), order(2, v=4)])
        back = fl.WindowOperator.restore(again, operator.snapshot())
        back.end()
        assert back.take().column("own").to_pylist() == [7]

    def test_windows_named_by_a_function_are_their_own(self) -> None:
        def declared() -> fl.WindowSpec:
            def ten_seconds(length: int, times: Any, batch: Any) -> Any:
                return times, times + length

            return BY_HAND.window(fl.custom(partial(ten_seconds, 10 * S))).agg(n=fl.count()).spec

        operator = fl.WindowOperator(declared())
        operator.add([order(1)])
        back = fl.WindowOperator.restore(declared(), operator.snapshot())
        assert back.windows().column("n").to_pylist() == [1]

    def test_the_watermark_may_wait_longer_than_it_did(self) -> None:
        """How late records may be is a matter of those to come, as it is for a checkpoint."""
        declared = [fl.stream([], time="ts", unit="s", delay=delay) for delay in ("1 s", "5 s")]
        one, other = (stream.window(fl.tumbling("10 s")).agg(n=fl.count()).spec for stream in declared)
        operator = fl.WindowOperator(one)
        operator.add([order(9)])
        back = fl.WindowOperator.restore(other, operator.snapshot())
        back.add([order(12)])
        assert back.take().num_rows == 0
        back.add([order(15)])
        assert back.take().column("n").to_pylist() == [1]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"",
            lambda data: b"not a snapshot at all",
            lambda data: data[:10],
            lambda data: data[:-1],
            lambda data: data + b"x",
            lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        ],
        ids=["nothing", "something else", "its beginning", "all but a byte", "a byte more", "one bit changed"],
    )
    def test_damaged_bytes_are_refused(self, damage: Any) -> None:
        operator = TOTALS.operator()
        operator.add([order(1)])
        with pytest.raises(fl.StateError):
            fl.WindowOperator.restore(TOTALS.spec, damage(operator.snapshot()))

    def test_there_is_none_before_the_columns_are_known(self) -> None:
        with pytest.raises(fl.EngineError, match="Add records, or give it a schema"):
            TOTALS.operator().snapshot()

    def test_a_schema_alone_is_enough_for_one(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
        operator = fl.WindowOperator(TOTALS.spec, schema=schema)
        again = fl.WindowOperator.restore(TOTALS.spec, operator.snapshot())
        again.add([order(1)])
        assert counts(again) == (1, 1, 0, 0)
