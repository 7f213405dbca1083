"""Writing everything down and going on from it."""

from __future__ import annotations

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

    def test_another_pipeline_is_refused_and_both_are_named(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1)])
        other = BY_HAND.window(fl.tumbling("15 s")).agg(n=fl.count()).spec
        with pytest.raises(fl.StateError, match="written by another pipeline") as refused:
            fl.WindowOperator.restore(other, operator.snapshot())
        assert repr(TOTALS.spec) in str(refused.value)
        assert repr(other) in str(refused.value)

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
