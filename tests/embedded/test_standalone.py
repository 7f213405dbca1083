"""The standalone operator: records in by hand, firings out by hand, nothing counted twice and no step half done."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fanlight as fl
from fanlight.model.timestamp import END_OF_TIME, START_OF_TIME

S = 1_000_000
"""Times in records are seconds; watermarks and clocks are microseconds."""

BY_HAND = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")
WINDOWED = BY_HAND.window(fl.tumbling("10 s"), lateness="20 s")
EAGER = WINDOWED.trigger(fl.at_watermark(early=fl.after(1)))
TOTALS = WINDOWED.agg(n=fl.count(), total=fl.sum("v"))
"""Windows [0, 10), [10, 20) and so on, which close where they end and expire 20 seconds later."""


def order(ts: int | None, k: str | None = "tea", v: int | None = 1) -> dict[str, Any]:
    return {"ts": ts, "k": k, "v": v}


def said(table: pa.Table) -> list[tuple[Any, ...]]:
    """Firings as (key, start of the window in seconds, timing, count)."""
    return [
        (row["k"], int(row["window"]["start"].timestamp()), row["pane"]["timing"], row["n"])
        for row in table.to_pylist()
    ]


def counts(operator: fl.WindowOperator) -> tuple[int, int, int, int]:
    """Received, accepted, duplicates, dead letters; the law that they add up is checked on the way."""
    assert operator.accounting.adds_up
    return tuple(operator.accounting.as_dict().values())  # type: ignore[return-value]


def paid(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A hook that leaves out what costs nothing."""
    return batch.filter(pc.greater(batch["v"], 0))


def reasons(operator: fl.WindowOperator) -> list[str]:
    return operator.dead_letters.column("reason").to_pylist()  # type: ignore[no-any-return]


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
        operator.end()
        assert operator.take().num_rows == 0
        assert counts(operator) == (0, 0, 0, 0)
        assert operator.watermark == START_OF_TIME
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
        assert counts(operator) == (2, 2, 0, 0)

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


class Fragile(fl.UserAggregate):
    """A sum that breaks in the method it is told to break in."""

    state_type = pa.int64()
    output_type = pa.int64()
    breaks: ClassVar[str] = ""
    how: ClassVar[type[BaseException]] = ZeroDivisionError

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return self._unless("add", state + value)

    def merge(self, left: int, right: int) -> int:
        return self._unless("merge", left + right)

    def finish(self, state: int) -> int:
        return self._unless("finish", state)

    def _unless(self, method: str, result: int) -> int:
        if self.breaks == method:
            raise self.how
        return result


class TestAStepThatFails:
    """It changes nothing: counts, watermark, windows, dead letters, firings and positions are as before."""

    PIPELINE = WINDOWED.agg(n=fl.count(), total=fl.sum("v"), own=Fragile("v"))

    def everything(self, operator: fl.WindowOperator) -> list[Any]:
        tables = [operator.windows(), operator.dead_letters, operator.results()]
        return [counts(operator), operator.watermark, *(table.to_pylist() for table in tables)]

    def busy(self) -> fl.WindowOperator:
        """An operator with something of everything: open and closed windows, a dead letter, a firing."""
        operator = self.PIPELINE.operator()
        operator.add([order(1, v=2**62), order(None), order(12)], offset=0, watermark=10 * S)
        return operator

    def goes_on(self, operator: fl.WindowOperator) -> None:
        """What failed can be sent again from the same position, corrected, and is no duplicate."""
        operator.add([order(2), order(None)], offset=3, watermark=20 * S)
        assert counts(operator) == (5, 3, 0, 2)
        assert said(operator.take()) == [
            ("tea", 0, "ON_TIME", 1),
            ("tea", 0, "LATE", 2),
            ("tea", 10, "ON_TIME", 1),
        ]

    BAD: ClassVar[dict[str, Any]] = {
        "a sum beyond int64": ([order(2, v=2**62), order(None), order(13)], "leaves int64"),
        "text in a column of numbers": (pa.table({"ts": [2], "k": ["a"], "v": ["x"]}), "'v' is string here and was"),
        "a fraction in a column of integers": (pa.table({"ts": [2], "k": ["a"], "v": [2.5]}), "'v' is double here and"),
        "a column that is missing": (pa.table({"ts": [2], "k": ["a"]}), "'v' is not in the input"),
        "a field that is new": ([{"ts": 2, "k": "a", "v": 1, "w": 1}], "field 'w'"),
    }

    @pytest.mark.parametrize("kind", BAD)
    def test_by_its_records(self, kind: str) -> None:
        operator, (records, message) = self.busy(), self.BAD[kind]
        before = self.everything(operator)
        with pytest.raises(fl.FanlightError, match=message):
            operator.add(records, offset=3, watermark=25 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    @pytest.mark.parametrize("method", ["add", "merge", "finish"])
    def test_by_an_aggregate_of_the_user(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", method)
            with pytest.raises(fl.EngineError, match=f"Fragile: `{method}` on `v` raised ZeroDivisionError"):
                operator.add([order(2), order(None), order(13)], offset=3, watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_by_being_interrupted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", "add")
            broken.setattr(Fragile, "how", KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                operator.add([order(2), order(None)], offset=3, watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    @pytest.mark.parametrize("step", ["advance", "end"])
    def test_without_records(self, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", "finish")
            with pytest.raises(fl.EngineError, match="finish"):
                operator.end() if step == "end" else operator.advance(watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_by_a_watermark_that_cannot_be_read(self) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with pytest.raises(fl.SpecError, match="'soon' is not ISO 8601"):
            operator.add([order(2)], offset=3, watermark="soon")
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_in_windows_that_fire_once(self) -> None:
        """Records lie in slices until the window closes; a bundle whose own sum overflows is refused whole."""
        operator = BY_HAND.window(fl.tumbling("10 s")).agg(n=fl.count(), total=fl.sum("v")).operator()
        operator.add([order(1)], offset=0)
        before = self.everything(operator)
        with pytest.raises(fl.EngineError, match="leaves int64"):
            operator.add([order(2, v=2**62), order(3, v=2**62), order(None)], offset=1)
        assert self.everything(operator) == before
        operator.add([order(2)], offset=1, watermark=10 * S)
        assert operator.take().column("total").to_pylist() == [2]

    def test_the_clock_is_as_before(self) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(1, v=2**62)], clock=5 * S)
        with pytest.raises(fl.EngineError, match="leaves int64"):
            operator.add([order(2, v=2**62)], clock=9 * S)
        assert operator.clock == 5 * S

    def test_the_signal_is_as_before(self) -> None:
        operator = WINDOWED.trigger(fl.repeat(fl.on_signal())).agg(n=fl.count()).operator()
        operator.add([order(1)])
        with pytest.raises(fl.SpecError, match="'soon' is not ISO 8601"):
            operator.advance(signal=True, watermark="soon")
        operator.add([order(2)])
        assert operator.take().num_rows == 0

    def test_the_very_first_may_fail_too(self) -> None:
        """Nothing was known before it, so the columns may be others the next time."""
        operator = TOTALS.operator()
        with pytest.raises(fl.InputError, match="'k' is not in the input"):
            operator.add([{"ts": 1, "v": 1}])
        assert not operator.is_bound
        operator.add([order(1)])
        assert counts(operator) == (1, 1, 0, 0)

    def test_a_declared_schema_outlives_the_failure(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
        operator = fl.WindowOperator(TOTALS.spec, schema=schema)
        with pytest.raises(fl.EngineError, match="leaves int64"):
            operator.add([order(1, v=2**62), order(2, v=2**62)])
        operator.add([order(1)])
        again = fl.WindowOperator.restore(TOTALS.spec, operator.snapshot())
        assert again.windows().column("n").to_pylist() == [1]
