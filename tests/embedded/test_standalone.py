"""The standalone operator: records in by hand, firings out by hand, nothing counted twice and no step half done."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fanlight as fl
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME

from .orders import EAGER, TOTALS, WINDOWED, S, counts, order, paid, reasons, said


class TestResults:
    def test_they_stay_until_they_are_flushed(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3), order(4)], watermark=10 * S)
        assert said(operator.results()) == said(operator.results()) == [("tea", 0, "ON_TIME", 2)]
        operator.add([order(12)], watermark=20 * S)
        assert said(operator.results()) == [("tea", 0, "ON_TIME", 2), ("tea", 10, "ON_TIME", 1)]
        operator.flush()
        assert operator.results().num_rows == 0

    def test_taking_is_reading_and_flushing(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3)], watermark=10 * S)
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]
        assert operator.take().num_rows == 0
        assert operator.take().schema.names == ["k", "window", "n", "total", "pane"]

    def test_of_one_step_they_are_ordered_by_window_then_key_null_last(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(15, "b"), order(2, None), order(3, "b"), order(11, "a"), order(1, "a")], watermark=20 * S)
        assert [row[:2] for row in said(operator.take())] == [("a", 0), ("b", 0), (None, 0), ("a", 10), ("b", 10)]


class TestSteps:
    def test_one_add_is_one_step(self) -> None:
        """After every update means after every step: two records at once fire once, one by one they fire twice."""
        together, apart = EAGER.agg(n=fl.count()).operator(), EAGER.agg(n=fl.count()).operator()
        together.add([order(1), order(2)])
        apart.add(order(1))
        apart.add(order(2))
        assert said(together.take()) == [("tea", 0, "EARLY", 2)]
        assert said(apart.take()) == [("tea", 0, "EARLY", 1), ("tea", 0, "EARLY", 2)]

    def test_the_watermark_of_an_add_comes_after_its_records(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3)], watermark=10 * S)
        operator.add([order(4), order(12)], watermark=20 * S)
        assert said(operator.take()) == [
            ("tea", 0, "ON_TIME", 1),
            ("tea", 0, "LATE", 2),  # 4 was judged by the watermark before it, 10: late, and not yet expired
            ("tea", 10, "ON_TIME", 1),
        ]

    def test_the_clock_of_an_add_is_there_when_its_records_arrive(self) -> None:
        """The pane remembers that its first record came at 12 s; the next multiple of 10 s of the clock is 20 s."""
        looks = WINDOWED.trigger(fl.at_watermark(early=fl.every("10 s"))).agg(n=fl.count())
        operator = looks.operator()
        operator.add([order(1)], clock=12 * S)
        operator.add([order(2)], clock=19 * S)
        assert operator.take().num_rows == 0
        operator.add([order(3)], clock=20 * S)
        assert said(operator.take()) == [("tea", 0, "EARLY", 3)]

    def test_neither_watermark_nor_clock_goes_back(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3)], watermark=15 * S, clock=7 * S)
        operator.advance(watermark=12 * S, clock=5 * S)
        assert (operator.watermark, operator.clock) == (15 * S, 7 * S)

    def test_times_may_be_text_datetimes_or_microseconds(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3)], watermark="1970-01-01T00:00:10Z", clock="1970-01-01T00:00:05Z")
        assert (operator.watermark, operator.clock) == (10 * S, 5 * S)

    def test_time_may_pass_before_the_first_record(self) -> None:
        """The window [0, 10) expired at 30, before any column was known."""
        operator = TOTALS.operator()
        operator.advance(watermark=30 * S, clock=4 * S)
        operator.add([order(9), order(10)])
        assert (operator.watermark, operator.clock) == (30 * S, 4 * S)
        assert reasons(operator) == ["expired"]
        assert counts(operator) == (2, 1, 0, 1)

    def test_a_bundle_without_records_is_a_step_all_the_same(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3)])
        operator.add([], watermark=10 * S, clock=2 * S)
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]
        assert operator.clock == 2 * S

    def test_so_it_is_if_it_comes_first(self) -> None:
        operator = TOTALS.operator()
        operator.add([], watermark=30 * S, clock=4 * S)
        operator.add([order(9)])
        assert operator.clock == 4 * S
        assert reasons(operator) == ["expired"]

    def test_the_end_closes_and_expires_everything(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(3), order(25)])
        operator.end()
        rows = operator.take()
        assert said(rows) == [("tea", 0, "ON_TIME", 1), ("tea", 20, "ON_TIME", 1)]
        assert all(row["pane"]["is_last"] for row in rows.to_pylist())
        assert operator.watermark == END_OF_TIME
        assert operator.windows().num_rows == 0
        operator.end()
        assert operator.take().num_rows == 0
        operator.add([order(26)])
        assert reasons(operator) == ["expired"]

    def test_so_does_an_end_that_comes_before_any_record(self) -> None:
        operator = TOTALS.operator()
        operator.end()
        operator.add([order(3)])
        assert reasons(operator) == ["expired"]

    def test_before_anything_there_is_nothing(self) -> None:
        operator = TOTALS.operator()
        assert operator.watermark == START_OF_TIME
        operator.end()
        assert operator.take().num_rows == 0
        assert counts(operator) == (0, 0, 0, 0)
        assert operator.watermark == END_OF_TIME  # as it is with columns
        assert not operator.is_bound
        with pytest.raises(fl.EngineError, match=r"knows no columns yet\. Add records, or give it"):
            operator.windows()

    def test_a_schema_binds_it_before_the_first_record(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
        operator = fl.WindowOperator(TOTALS.spec, schema=schema)
        assert operator.is_bound
        assert operator.windows().num_rows == operator.dead_letters.num_rows == operator.results().num_rows == 0


class TestHooks:
    def test_before_process_may_filter_a_bundle(self) -> None:
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=5), order(2, v=0), order(3, v=7)], watermark=10 * S)
        assert operator.take().column("total").to_pylist() == [12]

    def test_what_before_process_leaves_out_is_received_and_dropped(self) -> None:
        """Of three orders the hook leaves one out, and one has no time; a fourth is a duplicate before any hook."""
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=5), order(2, v=0), order(None, v=7)], offset=0)
        operator.add([order(2, v=0)], offset=1)
        assert counts(operator) == (4, 1, 1, 1)
        assert operator.accounting.dropped == 1

    def test_a_hook_may_leave_out_everything(self) -> None:
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=0), order(2, v=0)], watermark=10 * S)
        assert counts(operator) == (2, 0, 0, 0)
        assert operator.accounting.dropped == 2
        assert operator.take().num_rows == 0

    def test_rows_that_before_process_adds_are_received(self) -> None:
        operator = TOTALS.operator(before_process=lambda batch: pa.concat_batches([batch, batch]))
        operator.add([order(1), order(2)])
        assert counts(operator) == (4, 4, 0, 0)
        assert operator.accounting.dropped == 0

    def test_a_snapshot_remembers_what_was_dropped(self) -> None:
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=0), order(2)])
        restored = fl.WindowOperator.restore(TOTALS.spec, operator.snapshot())
        assert restored.accounting == operator.accounting
        assert restored.accounting.dropped == 1

    def test_before_process_may_change_a_bundle(self) -> None:
        """The operator is bound to what the hook returns: here the key is made from another column."""

        def initials(batch: pa.RecordBatch) -> pa.RecordBatch:
            return batch.append_column("k", pc.utf8_slice_codeunits(batch["name"], 0, 1))

        operator = TOTALS.operator(before_process=initials)
        operator.add([{"ts": 1, "name": "tea", "v": 1}, {"ts": 2, "name": "tonic", "v": 2}], watermark=10 * S)
        assert said(operator.take()) == [("t", 0, "ON_TIME", 2)]

    def test_before_send_sees_every_firing_and_may_change_it(self) -> None:
        def priced(batch: pa.RecordBatch) -> pa.RecordBatch:
            return batch.append_column("mean", pc.divide(batch["total"], batch["n"]))

        operator = TOTALS.operator(before_send=priced)
        operator.add([order(1, v=4), order(2, v=8)], watermark=10 * S)
        operator.add([order(12, v=5)], watermark=20 * S)
        assert operator.take().column("mean").to_pylist() == [6, 5]

    def test_a_hook_that_fails_before_a_step_changes_nothing(self) -> None:
        def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
            raise RuntimeError("no")

        operator = TOTALS.operator(before_process=broken)
        with pytest.raises(RuntimeError, match="no"):
            operator.add([order(1)])
        assert counts(operator) == (0, 0, 0, 0)

    def test_a_hook_that_fails_while_sending_loses_no_firing(self) -> None:
        """Either the step did not happen and is done again, or it did and its firing waits: the window fires once."""
        failing = True

        def flaky(batch: pa.RecordBatch) -> pa.RecordBatch:
            if failing:
                raise RuntimeError("not now")
            return batch

        operator = TOTALS.operator(before_send=flaky)
        operator.add([order(1)], offset=0)
        with pytest.raises(RuntimeError, match="not now"):
            operator.add([order(12)], offset=1, watermark=10 * S)
        failing = False
        operator.add([order(12)], offset=1, watermark=10 * S)
        operator.end()
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1), ("tea", 10, "ON_TIME", 1)]


class TestOffsets:
    def test_what_was_taken_already_is_a_duplicate_and_changes_nothing(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1), order(2)], offset=10)  # positions 10 and 11
        operator.add([order(2), order(3)], offset=11)  # 11 again, and 12
        operator.add([order(1), order(2), order(3)], offset=10)  # all of them again
        assert operator.windows().column("n").to_pylist() == [3]
        assert counts(operator) == (7, 3, 4, 0)

    def test_each_record_may_have_its_own(self) -> None:
        """Within a bundle too: 7 comes twice, and 5 comes after 7. Positions only grow."""
        operator = TOTALS.operator()
        operator.add([order(1), order(2), order(2), order(3), order(4)], offset=[3, 7, 7, 5, 9])
        assert operator.windows().column("n").to_pylist() == [3]
        assert counts(operator) == (5, 3, 2, 0)

    def test_each_source_has_its_own_positions(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1)], source="left", offset=0)
        operator.add([order(2)], source="right", offset=0)
        operator.add([order(3)], source="left", offset=1)
        operator.add([order(2)], source="right", offset=0)  # again
        operator.add([order(1), order(3)], source="left", offset=0)  # again
        operator.add([order(4)], source="right", offset=1)
        assert operator.windows().column("n").to_pylist() == [4]
        assert counts(operator) == (7, 4, 3, 0)

    def test_a_record_without_a_position_is_never_a_duplicate(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(1)], offset=5)
        operator.add([order(1)])
        assert counts(operator) == (2, 2, 0, 0)

    def test_a_dead_letter_that_comes_again_is_a_duplicate(self) -> None:
        operator = TOTALS.operator()
        operator.add([order(None), order(1)], offset=0)
        operator.add([order(None), order(1)], offset=0)
        assert reasons(operator) == ["null_time"]
        assert counts(operator) == (4, 1, 2, 1)

    def test_a_replayed_bundle_tells_no_trigger_anything(self) -> None:
        operator = EAGER.agg(n=fl.count()).operator()
        operator.add([order(1)], offset=0)
        assert operator.take().num_rows == 1
        operator.add([order(1)], offset=0)
        assert operator.take().num_rows == 0

    def test_they_must_be_as_many_as_the_records(self) -> None:
        with pytest.raises(fl.InputError, match=r"3 offsets were given for 2 records\. Give one for each"):
            TOTALS.operator().add([order(1), order(2)], offset=[1, 2, 3])

    def test_positions_are_those_of_the_source_whatever_a_hook_left_out(self) -> None:
        """The records have positions 0, 1 and 2, and the hook drops the middle one. So 2 has been taken."""
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=5), order(2, v=0), order(3, v=7)], offset=0)
        operator.add([order(3, v=7)], offset=2)
        assert operator.windows().column("total").to_pylist() == [12]
        assert counts(operator) == (4, 2, 1, 0)

    def test_so_they_are_if_each_record_has_its_own(self) -> None:
        operator = TOTALS.operator(before_process=paid)
        operator.add([order(1, v=5), order(2, v=0), order(3, v=7)], offset=[0, 4, 9])
        operator.add([order(3, v=7)], offset=[9])
        assert operator.windows().column("total").to_pylist() == [12]


class TestSeveralInputs:
    STREAM = fl.stream(
        [],
        time="ts",
        unit="s",
        watermark=fl.several({"left": fl.bounded_disorder("0 s"), "right": fl.bounded_disorder("0 s")}, idle="30 s"),
    )
    PIPELINE = STREAM.key_by("k").window(fl.tumbling("10 s")).agg(n=fl.count())

    def test_the_slower_one_holds_the_windows_open(self) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(3), order(25)], source="left")
        assert operator.watermark == START_OF_TIME  # right has not spoken
        operator.add([order(12)], source="right")
        assert operator.watermark == 12 * S
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]

    def test_a_silent_one_stops_holding_the_others_back(self) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(12)], source="right", clock=1 * S)
        operator.add([order(25), order(40)], source="left", clock=20 * S)
        operator.advance(clock=31 * S - 1)
        assert operator.watermark == 12 * S
        operator.advance(clock=31 * S)  # 30 seconds after right's last word
        assert operator.watermark == 40 * S
        assert said(operator.take()) == [("tea", 10, "ON_TIME", 1), ("tea", 20, "ON_TIME", 1)]
        operator.add([order(39), order(41)], source="right", clock=32 * S)  # it speaks again; nothing goes back
        assert operator.watermark == 40 * S
        assert reasons(operator) == ["expired"]

    def test_an_input_may_speak_without_records(self) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(3), order(25)], source="left", clock=1 * S)
        operator.advance(source="right", watermark=11 * S, clock=2 * S)
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]

    @pytest.mark.parametrize("source", [None, "middle"])
    def test_records_from_nowhere_are_refused_and_change_nothing(self, source: str | None) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(3)], source="left")
        with pytest.raises(fl.EngineError, match="Use one of 'left', 'right'"):
            operator.add([order(4)], source=source)
        with pytest.raises(fl.EngineError, match="Use one of 'left', 'right'"):
            operator.advance(watermark=9 * S, source=source)
        assert counts(operator) == (1, 1, 0, 0)
