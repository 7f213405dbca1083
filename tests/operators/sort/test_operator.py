"""Sort on its host, story by story: which rows leave, in which order, and where every other record went.

Times are microseconds.
"""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa
import pytest
from tests.embedded.interrupting import CtrlC

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.reason import Reason
from fanlight.model.sort import SortSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import LATEST
from fanlight.model.time.watermarks import BoundedDisorder
from fanlight.operators.bind import bind
from fanlight.state.memory import MemoryStore
from fanlight.testing.script import Record

from .sorting import Sorting

BY_HAND = SortSpec("ts", watermark=fl.Explicit())
"""The caller says the watermark."""
SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.string()})


def row(time: int | None, value: str = "") -> Record:
    return {"ts": time, "v": value}


def times(rows: list[Record]) -> list[Any]:
    return [one["ts"] for one in rows]


class TestRows:
    def test_they_leave_in_order_when_the_watermark_has_passed_them(self) -> None:
        sorting = Sorting(BY_HAND)
        assert sorting.add(row(5, "a"), row(2, "b"), row(7, "c")) == []
        assert sorting.advance(watermark=5) == [row(2, "b")]
        assert sorting.add(row(6, "d"), watermark=7) == [row(5, "a"), row(6, "d")]
        assert sorting.end() == [row(7, "c")]
        assert sorting.counted == (4, 4, 0, 0)
        assert sorting.waiting == 0

    def test_each_leaves_as_it_came(self) -> None:
        """Columns that sort does not read pass as they are, whatever their type; a result has the input's schema."""
        schema = pa.schema(
            {
                "at": pa.timestamp("ms", "Europe/Berlin"),
                "word": pa.dictionary(pa.int8(), pa.string()),
                "list": pa.list_(pa.int64()),
                "window": pa.float32(),
            }
        )
        batch = pa.RecordBatch.from_pylist(
            [{"at": 2, "word": "b", "list": [1], "window": 0.5}, {"at": 1, "word": None, "list": None, "window": None}],
            schema=schema,
        )
        sorting = Sorting(SortSpec("at", watermark=fl.Explicit()))
        sorting.add_batch(batch)
        (left,) = sorting.shard.step(ends=True)
        assert left.schema == schema
        assert left.equals(batch.take(pa.array([1, 0])))

    def test_rows_of_one_time_leave_by_the_columns_for_ties_then_as_they_came(self) -> None:
        sorting = Sorting(SortSpec("ts", ties=("v",), watermark=fl.Explicit()))
        sorting.add({"ts": 1, "v": "b", "n": 0}, {"ts": 1, "v": None, "n": 1}, {"ts": 1, "v": "a", "n": 2})
        sorting.add({"ts": 1, "v": "a", "n": 3}, {"ts": 0, "v": "z", "n": 4})
        assert [one["n"] for one in sorting.end()] == [4, 2, 3, 0, 1]

    def test_keys_change_nothing_within_a_shard(self) -> None:
        sorting = Sorting(SortSpec("ts", keys=("v",), watermark=fl.Explicit()))
        sorting.add(row(3, "a"), row(1, "b"), row(2, "a"))
        assert times(sorting.end()) == [1, 2, 3]

    def test_the_watermark_follows_the_records(self) -> None:
        """With a delay of 5, a record of 20 completes all below 15."""
        sorting = Sorting(SortSpec("ts", watermark=fl.bounded_disorder("5 us")))
        assert times(sorting.add(row(20), row(14), row(15))) == [14]

    def test_two_inputs_hold_each_other_back(self) -> None:
        sides = fl.several({"left": fl.Explicit(), "right": fl.Explicit()})
        sorting = Sorting(SortSpec("ts", watermark=sides))
        assert sorting.add(row(3), source="left", watermark=9) == []
        assert times(sorting.add(row(2), source="right", watermark=3)) == [2]

    def test_a_column_may_get_its_type_after_rows_wait_in_it(self) -> None:
        sorting = Sorting(BY_HAND)
        sorting.add({"ts": 2, "note": None}, {"ts": 3, "note": None})
        sorting.add({"ts": 1, "note": "first"})
        assert sorting.end() == [{"ts": 1, "note": "first"}, {"ts": 2, "note": None}, {"ts": 3, "note": None}]

    def test_windows_and_messages_are_not_kept(self) -> None:
        sorting = Sorting(BY_HAND, SCHEMA)
        with pytest.raises(fl.EngineError, match="keeps no windows"):
            sorting.shard.require_operator().windows(0, None, None)
        with pytest.raises(fl.EngineError, match="keeps no messages"):
            sorting.shard.require_operator().messages(None, None, None)


class TestDeadLetters:
    def test_a_record_below_the_watermark_before_its_bundle_is_expired(self) -> None:
        sorting = Sorting(BY_HAND)
        sorting.add(row(1), watermark=5)
        assert times(sorting.add(row(4), row(5), row(9), watermark=20)) == [5, 9]
        assert sorting.take_letters() == [(Reason.EXPIRED, row(4))]
        assert sorting.counted == (4, 3, 0, 1)

    def test_record_by_record_each_is_judged_by_those_before_it(self) -> None:
        """20 takes the watermark to 15, so the second 14 is expired; its letter says the watermark that judged it."""
        sorting = Sorting(SortSpec("ts", watermark=BoundedDisorder(Duration.of("5 us"), per_record=True)))
        assert times(sorting.add(row(14), row(20), row(14), row(15))) == [14]
        (letter,) = sorting.shard.require_books().letters.peek().to_pylist()
        assert letter["watermark"].timestamp() * 1e6 == 15
        assert sorting.counted == (4, 3, 0, 1)

    def test_a_time_that_cannot_be_used_moves_no_watermark(self) -> None:
        sorting = Sorting(SortSpec("ts", watermark=fl.bounded_disorder("5 us")), SCHEMA)
        assert sorting.add(row(None), row(LATEST + 1), row(7)) == []
        assert sorting.take_letters() == [(Reason.NULL_TIME, row(None)), (Reason.TIME_OUT_OF_RANGE, row(LATEST + 1))]
        assert sorting.shard.watermark == 2

    def test_a_time_too_far_ahead_of_the_clock_waits_for_nobody(self) -> None:
        sorting = Sorting(SortSpec("ts", watermark=fl.bounded_disorder("0 s"), ahead=Duration(10)))
        assert times(sorting.add(row(111), row(110), row(100), clock=100)) == [100]
        assert sorting.take_letters() == [(Reason.TOO_FAR_AHEAD, row(111))]
        assert times(sorting.end()) == [110]

    def test_a_value_that_does_not_fit_is_malformed(self) -> None:
        sorting = Sorting(BY_HAND, pa.schema({"ts": pa.int64(), "n": pa.int64()}))
        with warnings.catch_warnings(record=True):
            sorting.add({"ts": 1, "n": 1}, {"ts": 2, "n": "many"})
        (letter,) = sorting.shard.require_books().letters.take().to_pylist()
        assert letter["reason"] == "malformed"
        assert '"field": "n"' in letter["detail"]
        assert times(sorting.end()) == [1]
        assert sorting.counted == (2, 1, 0, 1)

    def test_after_the_end_everything_is_expired(self) -> None:
        sorting = Sorting(BY_HAND)
        sorting.add(row(1))
        sorting.end()
        assert sorting.add(row(LATEST)) == []
        assert sorting.take_letters() == [(Reason.EXPIRED, row(LATEST))]


class TestOffsets:
    def test_what_was_taken_before_is_a_duplicate(self) -> None:
        """Offsets 0 to 2, then 1 to 3: only the last is new. A restart in between changes nothing."""
        sorting = Sorting(BY_HAND)
        sorting.add(row(5), row(3), row(4), offset=0)
        sorting = sorting.restore()
        sorting.add(row(3), row(4), row(1), offset=1)
        assert times(sorting.end()) == [1, 3, 4, 5]
        assert sorting.counted == (6, 4, 2, 0)


class TestStepsThatFail:
    """A step is whole or never was: rows, letters, counts, watermark and offsets."""

    def busy(self) -> Sorting:
        sorting = Sorting(BY_HAND, SCHEMA)
        sorting.add(row(9, "a"), row(4, "b"), offset=0, watermark=3)
        return sorting

    def finish(self, sorting: Sorting) -> None:
        """The same step again, from the same offset: nothing in it is a duplicate."""
        assert sorting.add(row(2, "c"), row(5, "d"), row(9, "e"), offset=2, watermark=9) == [row(4, "b"), row(5, "d")]
        assert sorting.take_letters() == [(Reason.EXPIRED, row(2, "c"))]
        assert sorting.end() == [row(9, "a"), row(9, "e")]
        assert sorting.counted == (5, 4, 0, 1)

    def test_by_its_records(self) -> None:
        sorting = self.busy()
        with pytest.raises(fl.InputError, match="Column 'v' is not in the input"):
            sorting.add_batch(pa.table({"ts": [2]}), offset=2, watermark=9)
        assert sorting.shard.watermark == 3
        self.finish(sorting)

    def test_by_a_store_that_fails_to_commit(self) -> None:
        class Full(MemoryStore):
            is_full = False

            def commit(self) -> None:
                if self.is_full:
                    raise OSError("no space left")
                super().commit()

        store = Full()
        sorting = Sorting(BY_HAND, SCHEMA, store)
        sorting.add(row(9, "a"), row(4, "b"), offset=0, watermark=3)
        store.is_full = True
        with pytest.raises(OSError, match="no space left"):
            sorting.add(row(2, "c"), row(5, "d"), row(9, "e"), offset=2, watermark=9)
        store.is_full = False
        assert sorting.waiting == 2
        self.finish(sorting)

    def test_interrupted_at_any_line(self) -> None:
        """Every fifth line of the package that a step runs: before it is committed the step may be given again."""

        def step(sorting: Sorting) -> None:
            sorting.add(row(2, "c"), row(5, "d"), row(9, "e"), offset=2, watermark=9)

        whole, sorting = CtrlC(0), self.busy()
        whole.during(lambda: step(sorting))
        outcomes = {self.interrupted(step, line) for line in range(1, whole.lines + 1, 5)}
        assert outcomes == {"undone", "done"}

    def interrupted(self, step: Any, line: int) -> str:
        sorting = self.busy()
        before = sorting.shard.steps
        assert CtrlC(line).during(lambda: step(sorting))
        sorting.shard.recover()
        if sorting.shard.steps > before:
            assert times(sorting.end()) == [9, 9]
            assert sorting.counted == (5, 4, 0, 1)
            return "done"
        self.finish(sorting)
        return "undone"


class TestState:
    def test_a_snapshot_in_the_middle_goes_on_as_if_nothing_had_been(self) -> None:
        sorting = Sorting(SortSpec("ts", ties=("v",), watermark=fl.bounded_disorder("3 us")))
        sorting.add(row(9, "b"), row(5, "x"), row(9, "a"))
        other = sorting.restore()
        assert other.shard.watermark == 6
        for one in (sorting, other):
            assert one.add(row(5), row(9, "A")) == []
            assert one.take_letters() == [(Reason.EXPIRED, row(5))]
            assert [left["v"] for left in one.end()] == ["A", "a", "b"]

    def test_the_state_of_another_sort_is_refused(self) -> None:
        sorting = Sorting(BY_HAND)
        sorting.add(row(1))
        store = MemoryStore.restore(sorting.shard.snapshot())
        with pytest.raises(fl.StateError, match="ties: none before, v now"):
            Sorting(SortSpec("ts", ties=("v",), watermark=fl.Explicit()), store=store)

    def test_the_state_of_a_window_is_refused(self) -> None:
        operator = fl.stream([], time="ts", unit="us").window(fl.tumbling("1 s")).agg(n=fl.count()).operator()
        operator.add([row(1)])
        with pytest.raises(fl.StateError, match="written by another pipeline"):
            Sorting(BY_HAND, store=MemoryStore.restore(operator.snapshot()))


class TestColumns:
    @pytest.mark.parametrize(
        ("spec", "told"),
        [
            (SortSpec("at"), "Column 'at' is not in the input"),
            (SortSpec("ts", ties=("vv",)), "Column 'vv' is not in the input, .* Did you mean 'v'"),
            (SortSpec("ts", ties=("l",)), "sort: column 'l' is list<item: int64>, whose values have no order"),
            (SortSpec("ts", keys=("l",)), "'l'"),
        ],
    )
    def test_one_that_cannot_be_used_is_named(self, spec: SortSpec, told: str) -> None:
        with pytest.raises(fl.InputError, match=told):
            bind(spec, SCHEMA.append(pa.field("l", pa.list_(pa.int64()))))

    def test_views_inside_of_other_values_are_refused_before_a_row_waits(self) -> None:
        inner = pa.struct({"tags": pa.list_(pa.string_view())})
        with pytest.raises(fl.InputError, match=r"sort: column 'o' is struct.*with string in the place of string_view"):
            bind(SortSpec("ts"), SCHEMA.append(pa.field("o", inner)))
        bind(SortSpec("ts"), SCHEMA.append(pa.field("m", pa.map_(pa.string(), pa.list_(pa.string())))))


class TestChanges:
    """Records are changes: what leaves is what is left."""

    CHANGES = SortSpec("ts", watermark=fl.Explicit(), changes=Changes("op", ("v",), (("d", "-D"),)))
    SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.string(), "op": pa.string()})

    def test_rows_leave_as_they_were_inserted_last_without_their_operation(self) -> None:
        sorting = Sorting(self.CHANGES, self.SCHEMA)
        assert sorting.add(change(5, "a"), change(3, "b"), change(4, "c"), watermark=2) == []
        assert sorting.add(change(9, "a", "+U"), change(8, "b", "d")) == []
        assert sorting.end() == [row(4, "c"), row(9, "a")]
        assert sorting.counted == (5, 5, 0, 0)

    def test_a_delete_of_a_row_that_never_came_and_of_one_that_has_left_are_dead_letters(self) -> None:
        sorting = Sorting(self.CHANGES, self.SCHEMA)
        assert sorting.add(change(5, "a"), watermark=6) == [row(5, "a")]
        gone, later, never = change(5, "a", "-D"), change(7, "a", "-D"), change(7, "b", "-U")
        assert sorting.add(gone, later, never) == []
        assert sorting.take_letters() == [
            (Reason.EXPIRED, gone),
            (Reason.NO_SUCH_ROW, later),
            (Reason.NO_SUCH_ROW, never),
        ]
        assert sorting.counted == (4, 1, 0, 3)

    def test_what_is_no_operation_is_a_dead_letter_that_says_so(self) -> None:
        sorting = Sorting(self.CHANGES, self.SCHEMA)
        sorting.add(change(5, "a", "upsert"), change(5, "b", None), change(5, "c"))
        letters = sorting.shard.require_books().letters.peek().to_pylist()
        assert [(one["reason"], one["detail"]) for one in letters] == [
            ("no_such_operation", '{"op": "upsert"}'),
            ("no_such_operation", '{"op": null}'),
        ]
        assert sorting.end() == [row(5, "c")]

    def test_a_column_of_operations_that_are_no_words_is_refused(self) -> None:
        with pytest.raises(fl.InputError, match=r"'op' is int64, and operations are words"):
            bind(self.CHANGES, self.SCHEMA.set(2, pa.field("op", pa.int64())))

    def test_rows_that_cannot_be_compared_need_unique_columns(self) -> None:
        spec = SortSpec("ts", changes=Changes("op"))
        with pytest.raises(fl.InputError, match=r"'v' is list.* with `unique`"):
            bind(spec, pa.schema({"ts": pa.int64(), "v": pa.list_(pa.int64()), "op": pa.string()}))

    def test_rows_are_not_ordered_by_their_operations(self) -> None:
        with pytest.raises(fl.SpecError, match=r"'op' is the column of operations"):
            SortSpec("ts", ties=("op",), changes=Changes("op"))


def change(time: int, value: str, op: str | None = "+I") -> Record:
    return {"ts": time, "v": value, "op": op}
