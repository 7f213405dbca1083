"""`stream.sort()` in this process, as a user has it: rows in order out, everything else accounted for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

S = 1_000_000


def click(ts: int | None, page: str = "a") -> dict[str, Any]:
    return {"ts": ts, "page": page}


CLICKS = [click(12), click(9, "b"), click(20), click(None), click(13, "b"), click(31), click(20, "b")]
"""With a delay of 5 s and one record a bundle, 20 takes the watermark to 15, so the 13 after it is expired; and 31
takes it to 26, so the last 20 is.
"""


def clicks(**options: Any) -> fl.Stream:
    return fl.stream(CLICKS, time="ts", unit="s", delay="5 seconds", rows=1, **options)


class TestResult:
    def test_the_table_has_the_rows_in_order_with_the_columns_that_came(self) -> None:
        table = clicks().sort().table()
        assert table.schema == pa.schema({"ts": pa.int64(), "page": pa.string()})
        assert table.to_pylist() == [click(9, "b"), click(12), click(20), click(31)]

    def test_rows_are_read_as_the_watermark_passes_them(self) -> None:
        """20 completes all below 15, 31 all below 26, the end the rest; nothing else releases a row."""
        left = [batch.column("ts").to_pylist() for batch in clicks().sort()]
        assert left == [[9, 12], [20], [31]]

    def test_what_is_no_row_is_a_letter_and_all_adds_up(self) -> None:
        result = clicks().sort()
        assert [(one["reason"], one["record"]) for one in result.dead_letters.to_pylist()] == [
            ("null_time", click(None)),
            ("expired", click(13, "b")),
            ("expired", click(20, "b")),
        ]
        counted = result.accounting
        assert (counted.received, counted.accepted, counted.dead_letters) == (7, 4, 3)
        assert counted.adds_up

    def test_letters_can_be_handed_on(self) -> None:
        heard: list[str] = []
        result = clicks().sort().on_dead_letters(lambda letters: heard.extend(letters["reason"].to_pylist()))
        assert len(result.table()) == 4
        assert heard == ["null_time", "expired", "expired"]

    @pytest.mark.parametrize("order", ["shard", "total"])
    def test_in_this_process_there_is_one_shard_whatever_the_keys(self, order: Any) -> None:
        assert clicks().key_by("page").sort(order=order).table() == clicks().sort().table()

    def test_ties_go_by_the_columns_named(self) -> None:
        rows = [click(1, "c"), click(1, "a"), click(0, "z"), click(1, "b")]
        table = fl.stream(rows, time="ts", unit="s").sort("page").table()
        assert table.column("page").to_pylist() == ["z", "a", "b", "c"]

    def test_a_column_that_gets_its_type_late(self) -> None:
        """The rows that left before it had one have null in it."""
        rows = [{"ts": 1, "note": None}, {"ts": 9, "note": None}, {"ts": 10, "note": "found"}]
        table = fl.stream(rows, time="ts", unit="s", rows=1, delay="0 s").sort().table()
        assert table.to_pylist() == rows

    def test_a_column_may_be_called_as_those_of_windows_are(self) -> None:
        """A row without a window has no columns but its own."""
        rows = [{"ts": 2, "window": 1, "pane": "x"}, {"ts": 1, "window": 2, "pane": "y"}]
        assert fl.stream(rows, time="ts", unit="s").sort().table().to_pylist() == rows[::-1]

    def test_a_column_for_ties_that_is_not_there_is_named(self) -> None:
        with pytest.raises(fl.InputError, match=r"Column 'pgae' is not in the input.* Did you mean 'page'"):
            clicks().sort("pgae").table()

    def test_what_only_windows_have_is_no_attribute(self) -> None:
        assert not hasattr(clicks().sort(), "rewindow")
        assert not hasattr(clicks().sort().operator(), "windows")


class TestByHand:
    def test_records_in_by_hand_and_rows_out(self) -> None:
        operator = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).sort().operator()
        operator.add([click(5), click(3)])
        assert len(operator.take()) == 0
        operator.advance(watermark=5 * S)
        assert operator.take().to_pylist() == [click(3)]
        operator.end()
        assert operator.take().to_pylist() == [click(5)]

    def test_a_snapshot_goes_on_with_what_nobody_has_taken(self) -> None:
        operator = clicks().sort().operator()
        for one in CLICKS[:3]:
            operator.add([one])
        other = fl.StandaloneOperator.restore(operator.spec, operator.snapshot())
        assert other.take().to_pylist() == [click(9, "b"), click(12)]
        other.end()
        assert other.take().to_pylist() == [click(20)]

    def test_rows_that_wait_get_the_type_of_a_column_too(self) -> None:
        operator = fl.stream([], time="ts", unit="s").sort().operator()
        operator.add([{"ts": 1, "note": None}, {"ts": 2, "note": None}])
        operator.add([{"ts": 3, "note": "found"}])
        assert operator.take().to_pylist() == [{"ts": 1, "note": None}, {"ts": 2, "note": None}]
        operator.end()
        assert operator.take().to_pylist() == [{"ts": 3, "note": "found"}]

    def test_a_downstream_that_refuses_stops_it_and_nothing_is_lost(self) -> None:
        taken: list[Any] = []
        operator = clicks().sort().operator(downstream=lambda rows: taken.append(rows) if len(taken) < 1 else False)
        for one in CLICKS[:6]:
            operator.add([one])
        with pytest.raises(fl.BackPressure, match="The downstream refused 1 "):
            operator.add([click(40)])
        assert operator.take().to_pylist() == [click(20)]
        operator.add([click(40)])
        assert [batch.column("ts").to_pylist() for batch in taken] == [[9, 12]]
