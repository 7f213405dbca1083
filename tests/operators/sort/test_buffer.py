"""The sort buffer: rows wait, leave in order when the watermark passes them, and can be taken back until then."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST
from fanlight.operators.sort.buffer import SortBuffer
from fanlight.state.memory import MemoryStore

from .waiting import Waiting

MANY = 100_000
"""Rows enough to be cut into several parts of the time axis."""
NUMBERS = pa.schema({"n": pa.int64()})


def in_parts(store: MemoryStore | None = None) -> Waiting:
    """Times 0 to MANY - 1, shuffled, cut into parts: 16 chunks came for one part, the last of them made it crowded."""
    waiting = Waiting(NUMBERS, store=store)
    times = np.random.default_rng(7).permutation(MANY)
    for piece in np.array_split(times, 16):
        waiting.buffer.insert(pa.record_batch({"n": piece}), piece)
    return waiting


class TestOrder:
    def test_rows_leave_in_the_order_of_their_times(self) -> None:
        waiting = Waiting()
        waiting.insert((50, "a"), (20, "b"), (30, "c"))
        assert waiting.take(30) == [(20, "b")]
        waiting.insert((35, "d"), (31, "e"))
        assert waiting.take(51) == [(30, "c"), (31, "e"), (35, "d"), (50, "a")]

    def test_a_row_at_the_watermark_is_not_complete(self) -> None:
        waiting = Waiting()
        waiting.insert((7, "a"))
        assert waiting.take(7) == []
        assert waiting.take(8) == [(7, "a")]

    def test_rows_of_one_time_leave_in_the_order_they_came(self) -> None:
        """Over several bundles, and after a step has written the part again."""
        waiting = Waiting()
        waiting.insert((5, "a"), (1, "x"), (5, "b"))
        assert waiting.take(2) == [(1, "x")]
        waiting.insert((5, "c"))
        assert waiting.take(6) == [(5, "a"), (5, "b"), (5, "c")]

    def test_ties_go_by_the_columns_named_then_by_arrival(self) -> None:
        """Ascending, NaN after the numbers, null last; -0.0 and 0.0 are the same number."""
        schema = pa.schema({"f": pa.float64(), "s": pa.string(), "n": pa.int64()})
        waiting = Waiting(schema, ties=("f", "s"))
        nan = float("nan")
        values = [(None, "a"), (nan, "a"), (2.0, None), (2.0, "b"), (2.0, "a"), (0.0, "z"), (-0.0, "z")]
        waiting.insert(*((9, f, s, n) for n, (f, s) in enumerate(values)))
        waiting.insert((9, 2.0, "a", 7), (8, None, None, 8))
        assert [row[-1] for row in waiting.take()] == [8, 5, 6, 4, 7, 3, 2, 1, 0]

    def test_a_tie_column_may_be_a_dictionary(self) -> None:
        waiting = Waiting(pa.schema({"d": pa.dictionary(pa.int32(), pa.string())}), ties=("d",))
        waiting.insert((1, "b"), (1, "c"))
        waiting.insert((1, "a"), (1, None))
        assert waiting.take() == [(1, "a"), (1, "b"), (1, "c"), (1, None)]

    def test_a_tie_column_without_an_order_is_refused(self) -> None:
        with pytest.raises(fl.InputError, match="column 'l' is list<item: int64>, whose values have no order"):
            SortBuffer(MemoryStore(), pa.schema({"l": pa.list_(pa.int64())}), ties=("l",))

    def test_times_before_1970_and_at_both_ends_of_the_calendar(self) -> None:
        waiting = Waiting()
        waiting.insert((LATEST, "last"), (-1, "before"), (EARLIEST, "first"), (0, "epoch"))
        assert waiting.take(0) == [(EARLIEST, "first"), (-1, "before")]
        assert waiting.take(LATEST) == [(0, "epoch")]
        assert waiting.take(END_OF_TIME) == [(LATEST, "last")]

    def test_columns_of_any_type_come_back_as_they_went_in(self) -> None:
        """Also those named as the buffer's own are."""
        schema = pa.schema(
            {
                "time": pa.string(),
                "v.time": pa.list_(pa.int64()),
                "s": pa.struct({"x": pa.int32()}),
                "d": pa.dictionary(pa.int8(), pa.string()),
            }
        )
        waiting = Waiting(schema)
        waiting.insert((2, "late", [1, 2], {"x": 1}, "a"), (1, None, None, None, None))
        waiting.restore()
        waiting.insert((1, "more", [], {"x": None}, "b"))
        (rows, _), *rest = waiting.buffer.take(END_OF_TIME)
        assert not rest
        assert rows.schema == schema
        assert [row["time"] for row in rows.to_pylist()] == [None, "more", "late"]
        assert rows.to_pylist()[2] == {"time": "late", "v.time": [1, 2], "s": {"x": 1}, "d": "a"}


class TestPeek:
    def test_the_least_time_of_a_complete_row(self) -> None:
        waiting = Waiting()
        assert waiting.buffer.peek(END_OF_TIME) is None
        waiting.insert((5, "a"), (3, "b"))
        assert waiting.buffer.peek(3) is None
        assert waiting.buffer.peek(4) == 3
        assert waiting.buffer.peek(END_OF_TIME) == 3

    def test_it_takes_nothing(self) -> None:
        waiting = Waiting()
        waiting.insert((5, "a"))
        assert waiting.buffer.peek(6) == 5
        assert waiting.take(6) == [(5, "a")]
        assert waiting.buffer.peek(6) is None

    def test_a_row_below_those_that_came_before_is_found(self) -> None:
        waiting = in_parts()
        waiting.take(MANY // 2)
        waiting.insert((-5, 0))
        assert waiting.buffer.peek(0) == -5


class TestParts:
    def test_a_part_with_many_rows_is_cut(self) -> None:
        """The 16th chunk of a part has it written again: 100,000 rows make six parts of at least 2**14 rows."""
        waiting = in_parts()
        assert len(waiting.store.list("sort")) == MANY // 2**14

    def test_all_rows_leave_in_order_whatever_the_parts(self) -> None:
        waiting = in_parts()
        waiting.insert(*((time, -1) for time in (-3, 0, 50_000, MANY)))
        rows = waiting.take()
        assert [time for time, _ in rows] == sorted([*range(MANY), -3, 0, 50_000, MANY])
        assert [number for time, number in rows if time == 50_000] == [50_000, -1]

    def test_a_row_at_the_start_of_a_part_comes_after_those_of_its_time(self) -> None:
        waiting = in_parts()
        for part in sorted({address.part for address in waiting.store.list("sort")})[1:]:
            waiting.insert((part, -1))
            assert [number for time, number in waiting.take(part + 1) if time == part] == [part, -1]

    def test_taking_reads_and_writes_no_part_above_the_watermark(self) -> None:
        store = WatchedStore("sort")
        waiting = in_parts(store)
        parts = sorted({address.part for address in store.list("sort")})
        store.commit()
        store.forget()
        assert len(waiting.take(10)) == 10
        assert set(store.read) == set(store.written) == {parts[0]}
        store.forget()
        assert len(waiting.take(parts[2])) == parts[2] - 10
        assert set(store.read) == {parts[0], parts[1]}
        assert not store.written

    def test_inserting_reads_nothing(self) -> None:
        store = WatchedStore("sort")
        waiting = in_parts(store)
        store.forget()
        waiting.insert((5, 0), (99_000, 0))
        assert not store.read

    def test_a_step_that_releases_nothing_writes_nothing(self) -> None:
        store = WatchedStore("sort")
        waiting = Waiting(store=store)
        waiting.insert((5, "a"))
        store.forget()
        assert waiting.take(5) == []
        assert not store.written

    def test_many_rows_of_one_time_are_never_cut_apart(self) -> None:
        waiting = Waiting(NUMBERS)
        numbers = np.arange(MANY)
        for piece in np.array_split(numbers, 32):
            waiting.buffer.insert(pa.record_batch({"n": piece}), np.full(len(piece), 7))
        assert len({address.part for address in waiting.store.list("sort")}) == 1
        (rows, times), *rest = waiting.buffer.take(8)
        assert not rest
        assert rows.column("n").to_pylist() == numbers.tolist()
        assert set(times.tolist()) == {7}

    def test_chunks_do_not_pile_up_while_nothing_leaves(self) -> None:
        """A thousand bundles of one row each, earlier and earlier: never more than 16 chunks."""
        waiting = Waiting(NUMBERS)
        for number in range(1_000):
            waiting.insert((-number, number))
            assert len(waiting.store.list("sort")) <= 16
        assert waiting.take() == [(-number, number) for number in reversed(range(1_000))]

    def test_nothing_remains_when_all_has_left(self) -> None:
        waiting = in_parts()
        waiting.take()
        assert len(waiting.store) == 0

    def test_nothing_in_nothing_out(self) -> None:
        waiting = Waiting()
        waiting.insert()
        assert waiting.delete() == []
        assert waiting.apply() == []
        assert waiting.take() == []
        assert len(waiting.store) == 0


class TestRecovery:
    def test_a_buffer_made_again_on_the_store_goes_on(self) -> None:
        """RisingWave's test of a failover: rows 1, 2, 6, 7; after it the watermark 3 releases 1 and 2."""
        waiting = Waiting(NUMBERS)
        waiting.insert((1, 1), (2, 2), (6, 3), (7, 4))
        waiting.restore()
        assert waiting.take(3) == [(1, 1), (2, 2)]
        waiting.restore()
        waiting.insert((6, 5))
        assert waiting.take() == [(6, 3), (6, 5), (7, 4)]

    def test_a_step_that_is_rolled_back_never_was(self) -> None:
        waiting = Waiting()
        waiting.insert((1, "a"), (9, "b"))
        waiting.store.commit()
        before = waiting.store.snapshot()
        waiting.insert((2, "c"))
        assert waiting.take(5) == [(1, "a"), (2, "c")]
        assert waiting.delete((9, "b")) == [True]
        waiting.store.rollback()
        waiting.reopen()
        assert waiting.store.snapshot() == before
        assert waiting.take() == [(1, "a"), (9, "b")]


class TestChanges:
    def test_a_delete_takes_the_row_that_is_equal_in_time_and_all_columns(self) -> None:
        waiting = Waiting()
        waiting.insert((1, "a"), (1, "b"), (2, "a"), (3, None))
        assert waiting.delete((1, "a"), (2, "b"), (3, None)) == [True, False, True]
        assert waiting.take() == [(1, "b"), (2, "a")]

    def test_of_equal_rows_a_delete_takes_the_oldest(self) -> None:
        """Equal rows are told apart by the rows between them alone: a, b, a without its first a is b, a."""
        waiting = Waiting()
        waiting.insert((1, "a"), (1, "b"), (1, "a"))
        assert waiting.delete((1, "a")) == [True]
        assert waiting.take() == [(1, "b"), (1, "a")]

    def test_each_delete_takes_one_row(self) -> None:
        waiting = Waiting()
        waiting.insert((1, "a"), (1, "a"))
        assert waiting.delete((1, "a"), (1, "a"), (1, "a")) == [True, True, False]
        assert waiting.take() == []

    def test_a_delete_of_a_row_that_left_finds_none(self) -> None:
        waiting = Waiting()
        waiting.insert((1, "a"))
        waiting.take(2)
        assert waiting.delete((1, "a")) == [False]

    def test_changes_count_one_after_the_other(self) -> None:
        """The first delete finds nothing yet; the second takes the insert between them."""
        waiting = Waiting()
        changes = [("-D", (1, "a")), ("+I", (1, "a")), ("-D", (1, "a")), ("+I", (1, "b")), ("-D", (1, "a"))]
        assert waiting.apply(*changes) == [False, True, True, True, False]
        assert waiting.take() == [(1, "b")]

    def test_an_update_moves_a_row_to_another_time(self) -> None:
        waiting = Waiting()
        waiting.insert((1, "a"), (5, "b"))
        assert waiting.apply(("-U", (1, "a")), ("+U", (7, "a"))) == [True, True]
        assert waiting.take() == [(5, "b"), (7, "a")]

    def test_nulls_and_nans_equal_themselves(self) -> None:
        waiting = Waiting(pa.schema({"f": pa.float64()}))
        waiting.insert((1, float("nan")), (1, None), (1, 0.0))
        assert waiting.delete((1, None), (1, float("nan")), (1, -0.0)) == [True, True, True]

    def test_a_delete_reads_the_part_of_its_time_alone(self) -> None:
        store = WatchedStore("sort")
        waiting = in_parts(store)
        parts = sorted({address.part for address in store.list("sort")})
        store.forget()
        assert waiting.delete((parts[3], parts[3]), (parts[3] + 1, 0)) == [True, False]
        assert set(store.read) == set(store.written) == {parts[3]}
        assert len(waiting.take()) == MANY - 1

    def test_a_column_that_cannot_be_compared_asks_for_unique_ones(self) -> None:
        waiting = Waiting(pa.schema({"id": pa.int64(), "l": pa.list_(pa.int64())}))
        waiting.insert((1, 7, [1]))
        with pytest.raises(fl.InputError, match=r"column 'l' is list<item: int64>.*`unique`"):
            waiting.delete((1, 7, [1]))
        told_apart = Waiting(waiting.schema, unique=("id",))
        told_apart.insert((1, 7, [1]))
        assert told_apart.delete((1, 7, None)) == [True]

    @pytest.mark.parametrize("op", ["+D", None])
    def test_an_operation_that_is_none_is_refused(self, op: str | None) -> None:
        with pytest.raises(fl.InputError, match=r"op: .* is no operation.*Use one of \+I, -U, \+U, -D\."):
            Waiting().buffer.apply(*Waiting().columns([(1, "a")]), pa.array([op], pa.string()))


class TestUniqueRows:
    ROWS = pa.schema({"id": pa.int64(), "v": pa.string()})

    def test_a_delete_finds_its_row_by_id_whatever_its_time(self) -> None:
        waiting = Waiting(self.ROWS, unique=("id",))
        waiting.insert((1, 10, "a"), (5, 20, "b"))
        assert waiting.delete((3, 20, None), (3, 30, None)) == [True, False]
        assert waiting.take() == [(1, 10, "a")]

    def test_an_insert_replaces_the_row_with_its_id(self) -> None:
        waiting = Waiting(self.ROWS, unique=("id",))
        waiting.insert((1, 10, "a"), (5, 20, "b"))
        assert waiting.apply(("+I", (9, 10, "c"))) == [True]
        assert waiting.take() == [(5, 20, "b"), (9, 10, "c")]

    def test_the_last_change_of_an_id_stands(self) -> None:
        waiting = Waiting(self.ROWS, unique=("id",))
        changes = [
            ("+I", (1, 10, "a")),
            ("+I", (2, 10, "b")),
            ("+I", (3, 20, "c")),
            ("-D", (3, 20, None)),
            ("-D", (3, 20, None)),
        ]
        assert waiting.apply(*changes) == [True, True, True, True, False]
        assert waiting.take() == [(2, 10, "b")]

    def test_rows_are_found_in_every_part(self) -> None:
        waiting = Waiting(pa.schema({"n": pa.int64()}), unique=("n",), store=in_parts().store)
        assert waiting.delete((0, 99_999), (0, 0)) == [True, True]
        assert len(waiting.take()) == MANY - 2
