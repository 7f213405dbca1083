"""The oracle of `over`, against what the law says in words, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl
from fanlight.model import aggregates as agg
from fanlight.model.aggregates import Aggregate
from fanlight.model.over.frame import Frame, rows
from fanlight.model.over.frame import range as span
from fanlight.model.over.functions import (
    RowFunction,
    dense_rank,
    first_value,
    lag,
    last_value,
    lead,
    nth_value,
    rank,
    row_number,
)
from fanlight.model.over.spec import OrderBy, OverSpec, desc
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, FixedDistance
from fanlight.testing.oracle.graph import run_graph, stage_oracle
from fanlight.testing.oracle.over import OverOracle, OverOutcome
from fanlight.testing.script import Record, Step

NEVER = Duration.FOREVER
NAN = float("nan")
END = Step(end=True)


def over(frame: Frame, function: RowFunction | Aggregate, **more: Any) -> OverOracle:
    """One new column, `c`, for all rows as one key."""
    return OverOracle(OverSpec("ts", (("c", frame, function),), **{"watermark": Explicit(), **more}))


def table(*values: tuple[int, Any], **said: Any) -> Step:
    """Records of these times and values."""
    return Step(records=tuple({"ts": time, "v": value} for time, value in values), **said)


def at(*times: int | None, **said: Any) -> Step:
    """Records of these times, each of which is its value, too."""
    return Step(records=tuple({"ts": time, "v": time} for time in times), **said)


def column(outcome: OverOutcome) -> list[Any]:
    return [row["c"] for row in outcome.rows]


def times(outcome: OverOutcome) -> list[int]:
    return [row["ts"] for row in outcome.rows]


def computed(frame: Frame, function: RowFunction | Aggregate, *values: tuple[int, Any], **more: Any) -> list[Any]:
    """The new column of a whole table, in the order in which its rows leave at the end."""
    oracle = over(frame, function, **{"forget": NEVER, **more})
    oracle.step(table(*values))
    return column(oracle.step(END))


class TestFrames:
    VALUES = (1, 10), (2, 20), (2, 30), (5, 40)

    @pytest.mark.parametrize(
        ("frame", "sums"),
        [
            (rows(1), [10, 10 + 20, 20 + 30, 30 + 40]),
            (rows(0, following=1), [10 + 20, 20 + 30, 30 + 40, 40]),
            (rows("unbounded"), [10, 30, 60, 100]),
            (rows("unbounded", following=1), [30, 60, 100, 100]),
            (rows(1, following=1, exclude="current"), [20, 10 + 30, 20 + 40, 30]),
            (rows(0, exclude="current"), [None, None, None, None]),
            (span("0 us"), [10, 20 + 30, 20 + 30, 40]),  # rows of one time see each other
            (span("1 us"), [10, 10 + 20 + 30, 10 + 20 + 30, 40]),  # 1 is 1 before 2: inside
            (span("2 us"), [10, 60, 60, 40]),  # 2 is 3 before 5
            (span("0 us", following="3 us"), [10 + 20 + 30, 20 + 30 + 40, 20 + 30 + 40, 40]),
            (span("unbounded"), [10, 60, 60, 100]),
            (span("1 us", exclude="current"), [None, 10 + 30, 10 + 20, None]),
        ],
        ids=str,
    )
    def test_which_rows_they_have(self, frame: Frame, sums: list[int | None]) -> None:
        assert computed(frame, agg.sum("v"), *self.VALUES) == sums

    def test_an_aggregate_of_no_row_is_what_it_is_of_nothing(self) -> None:
        alone = rows(0, exclude="current")
        assert computed(alone, agg.count(), (1, 7)) == [0]
        assert computed(alone, agg.list("v"), (1, 7)) == [[]]
        assert computed(alone, agg.max("v"), (1, 7)) == [None]

    def test_nulls_are_rows_of_a_frame_and_no_values(self) -> None:
        values = (1, 10), (2, None), (3, None)
        assert computed(rows(1), agg.count(), *values) == [1, 2, 2]
        assert computed(rows(1), agg.count("v"), *values) == [1, 1, 0]
        assert computed(rows(1), agg.sum("v"), *values) == [10, 10, None]

    def test_keys_do_not_see_each_other_and_null_is_a_key(self) -> None:
        oracle = over(rows("unbounded"), agg.count(), keys=("v",), forget=NEVER)
        oracle.step(table((1, "a"), (2, None), (3, "a"), (4, None), (5, NAN), (6, NAN)))
        assert column(oracle.step(END)) == [1, 1, 2, 2, 1, 2]


class TestFunctions:
    PEERS = (1, 5), (1, 5), (1, 7), (2, 5), (2, 5)

    def test_row_numbers_count_the_rows_of_a_key(self) -> None:
        assert computed(rows(0), row_number(), *self.PEERS) == [1, 2, 3, 4, 5]

    def test_ranks_go_by_time_whatever_the_order(self) -> None:
        """Three rows of time 1, then two of time 2: rows of one time are peers, and the order says who comes first."""
        for order in ((), (OrderBy("v"),)):
            assert computed(rows(0), rank(), *self.PEERS, order=order) == [1, 1, 1, 4, 4]
            assert computed(rows(0), dense_rank(), *self.PEERS, order=order) == [1, 1, 1, 2, 2]

    def test_lag_and_lead_take_the_value_of_another_row(self) -> None:
        values = (1, 10), (2, None), (3, 30), (4, 40)
        assert computed(rows(0), lag("v"), *values) == [None, 10, None, 30]
        assert computed(rows(0), lag("v", 2), *values) == [None, None, 10, None]
        assert computed(rows(0), lead("v"), *values) == [None, 30, 40, None]
        assert computed(rows(0), lag("v", 0), *values) == [10, None, 30, 40]

    def test_nulls_can_be_passed_over(self) -> None:
        values = (1, 10), (2, None), (3, 30), (4, 40)
        assert computed(rows(0), lag("v", ignore_nulls=True), *values) == [None, 10, 10, 30]
        assert computed(rows(0), lead("v", ignore_nulls=True), *values) == [30, 30, 40, None]
        assert computed(rows(0), lead("v", 2, ignore_nulls=True), *values) == [40, 40, None, None]

    def test_the_frame_says_nothing_of_row_numbers_ranks_lag_and_lead(self) -> None:
        narrow = span("0 us", exclude="current")
        assert computed(narrow, row_number(), (1, 10), (5, 20)) == [1, 2]
        assert computed(narrow, lag("v"), (1, 10), (5, 20)) == [None, 10]
        assert computed(narrow, lead("v"), (1, 10), (5, 20)) == [20, None]

    def test_the_first_the_second_and_the_last_row_of_a_frame(self) -> None:
        values = (1, None), (2, 20), (3, 30), (4, None)
        two = rows(2)  # [n] [n 20] [n 20 30] [20 30 n]
        assert computed(two, first_value("v"), *values) == [None, None, None, 20]
        assert computed(two, nth_value("v", 2), *values) == [None, 20, 20, 30]
        assert computed(two, last_value("v"), *values) == [None, 20, 30, None]
        assert computed(two, first_value("v", ignore_nulls=True), *values) == [None, 20, 20, 20]
        assert computed(two, nth_value("v", 2, ignore_nulls=True), *values) == [None, None, 30, 30]
        assert computed(two, last_value("v", ignore_nulls=True), *values) == [None, 20, 30, 30]

    def test_without_the_current_row_the_others_are_counted(self) -> None:
        around = rows(1, following=1, exclude="current")
        values = (1, 10), (2, 20), (3, 30)
        assert computed(around, first_value("v"), *values) == [20, 10, 20]
        assert computed(around, nth_value("v", 2), *values) == [None, 30, None]
        assert computed(around, last_value("v"), *values) == [20, 30, 20]

    def test_the_last_row_of_a_range_is_the_last_of_its_time(self) -> None:
        """The rows of time 2 are 30, 20 in descending order."""
        values = (1, 10), (2, 20), (2, 30)
        assert computed(span("unbounded"), last_value("v"), *values, order=(desc("v"),)) == [10, 20, 20]


class TestOrder:
    VALUES = (7, None), (7, NAN), (7, 2.0), (7, 1.0), (7, 2.0)

    def left(self, *order: OrderBy) -> list[Any]:
        oracle = over(rows(0), row_number(), order=order, forget=NEVER)
        oracle.step(Step(records=tuple({"ts": t, "v": v, "id": n} for n, (t, v) in enumerate(self.VALUES))))
        outcome = oracle.step(END)
        assert column(outcome) == [1, 2, 3, 4, 5]
        return [row["id"] for row in outcome.rows]

    def test_rows_of_one_time_stay_as_they_came(self) -> None:
        assert self.left() == [0, 1, 2, 3, 4]

    def test_ascending_nan_is_after_numbers_and_null_is_last(self) -> None:
        assert self.left(OrderBy("v")) == [3, 2, 4, 1, 0]

    def test_descending_nan_is_first_and_null_is_last(self) -> None:
        """The two rows of 2.0 stay as they came."""
        assert self.left(desc("v")) == [1, 2, 4, 3, 0]

    def test_the_rows_of_a_step_leave_by_time_and_order_whatever_their_keys(self) -> None:
        oracle = over(rows(0), row_number(), keys=("k",), order=(OrderBy("v"),), forget=NEVER)
        came = [("a", 2, 1), ("b", 1, 9), ("a", 1, 3), ("b", 2, 0), ("b", 1, 3)]
        oracle.step(Step(records=tuple({"k": key, "ts": time, "v": value} for key, time, value in came)))
        left = [(row["k"], row["ts"], row["v"], row["c"]) for row in oracle.step(END).rows]
        assert left == [("a", 1, 3, 1), ("b", 1, 3, 1), ("b", 1, 9, 2), ("b", 2, 0, 3), ("a", 2, 1, 2)]


class TestStretches:
    def test_a_row_more_than_forget_after_the_last_one_starts_anew(self) -> None:
        """5 is 3 after 2, which is still remembered; 9 is 4 after 5."""
        oracle = over(rows("unbounded"), agg.count(), forget=Duration(3))
        oracle.step(at(1, 2, 5, 9, 10))
        assert column(oracle.step(END)) == [1, 2, 3, 1, 2]

    def test_whatever_looks_back_stops_there(self) -> None:
        values = (1, 10), (9, 20)
        assert computed(span("20 us"), agg.sum("v"), *values, forget=Duration(3)) == [10, 20]
        assert computed(rows(5), agg.sum("v"), *values, forget=Duration(3)) == [10, 20]
        assert computed(rows(0), lag("v"), *values, forget=Duration(3)) == [None, None]
        assert computed(rows(0), row_number(), *values, forget=Duration(3)) == [1, 1]

    def test_whatever_looks_ahead_stops_there(self) -> None:
        values = (1, 10), (9, 20)
        assert computed(span(following="20 us"), agg.sum("v"), *values, forget=Duration(3)) == [10, 20]
        assert computed(rows(0), lead("v"), *values, forget=Duration(3)) == [None, None]

    def test_a_row_in_between_that_comes_later_joins_two_stretches(self) -> None:
        oracle = over(rows("unbounded"), agg.count(), forget=Duration(3))
        oracle.step(at(1, 7))
        oracle.step(at(4))
        assert column(oracle.step(END)) == [1, 2, 3]

    def test_forgetting_at_once_leaves_rows_of_one_time_together(self) -> None:
        assert computed(rows(0), row_number(), (1, 0), (1, 0), (2, 0), forget=Duration(0)) == [1, 2, 1]


class TestRelease:
    def test_a_row_that_looks_back_leaves_when_the_watermark_has_passed_it(self) -> None:
        oracle = over(span("5 us"), agg.sum("v"))
        assert times(oracle.step(at(3, 1, watermark=1))) == []
        assert times(oracle.step(Step(watermark=3))) == [1]
        assert times(oracle.step(at(3))) == []
        assert column(oracle.step(Step(watermark=4))) == [1 + 3 + 3, 1 + 3 + 3]

    def test_a_row_that_looks_ahead_in_time_waits_so_long(self) -> None:
        oracle = over(span(following="5 us"), agg.sum("v"))
        assert times(oracle.step(at(1, 6, watermark=6))) == []
        assert column(oracle.step(Step(watermark=7))) == [7]

    def test_the_longest_frame_counts(self) -> None:
        new = (("c", span(following="5 us"), agg.sum("v")), ("n", span(following="2 us"), agg.count()))
        oracle = OverOracle(OverSpec("ts", new, watermark=Explicit()))
        assert times(oracle.step(at(1, watermark=6))) == []
        assert times(oracle.step(Step(watermark=7))) == [1]

    def test_a_row_waits_for_rows_that_the_watermark_has_passed(self) -> None:
        """Something could still come between 1 and 5."""
        oracle = over(rows(0, following=1), agg.sum("v"), forget=NEVER)
        assert times(oracle.step(at(1, 5, watermark=5))) == []
        assert column(oracle.step(at(5, watermark=6))) == [1 + 5, 5 + 5]
        assert times(oracle.step(Step(watermark=1_000))) == []
        assert column(oracle.step(END)) == [5]

    def test_or_until_its_stretch_is_over(self) -> None:
        """A row at 5 + 3 would be of the stretch, one at 9 is not."""
        oracle = over(rows(0, following=2), agg.sum("v"), forget=Duration(3))
        assert times(oracle.step(at(1, 2, 5, watermark=6))) == [1]
        assert times(oracle.step(Step(watermark=8))) == []
        assert column(oracle.step(Step(watermark=9))) == [2 + 5, 5]

    def test_a_row_that_waits_beyond_the_watermark_keeps_its_stretch_open(self) -> None:
        oracle = over(rows(0, following=2), agg.sum("v"), forget=Duration(3))
        assert times(oracle.step(at(1, 4, watermark=4))) == []
        assert times(oracle.step(Step(watermark=7))) == []
        assert column(oracle.step(Step(watermark=8))) == [1 + 4, 4]

    def test_lead_waits_for_rows_and_without_nulls_for_values(self) -> None:
        some = lead("v"), lead("v", ignore_nulls=True)
        values = (1, 10), (2, None), (3, 30)
        plain, skipping = (over(rows(0), one, forget=NEVER) for one in some)
        assert column(plain.step(table(*values, watermark=3))) == [None]
        assert column(skipping.step(table(*values, watermark=3))) == []
        assert column(skipping.step(Step(watermark=4))) == [30, 30]

    def test_all_leave_at_the_end_and_when_nothing_more_can_come(self) -> None:
        for last in (END, Step(watermark=END_OF_TIME)):
            oracle = over(rows(0, following=3), agg.count(), forget=NEVER)
            oracle.step(at(1, LATEST))
            assert column(oracle.step(last)) == [2, 1]
            assert oracle.step(END).rows == ()

    def test_what_has_left_does_not_change_and_is_still_seen(self) -> None:
        oracle = over(rows(1), agg.sum("v"), forget=NEVER)
        assert column(oracle.step(at(1, 2, watermark=3))) == [1, 1 + 2]
        assert column(oracle.step(at(3, watermark=4))) == [2 + 3]


class TestRecords:
    def test_below_the_watermark_before_its_bundle_it_is_expired(self) -> None:
        oracle = over(span("5 us"), agg.count())
        oracle.step(Step(watermark=5))
        outcome = oracle.step(at(4, 5, 9, watermark=20))
        assert column(outcome) == [1, 2]
        assert outcome.dead_letters == ((Reason.EXPIRED, {"ts": 4, "v": 4}),)
        assert (outcome.records_in, outcome.accepted, outcome.watermark) == (3, 2, 20)

    def test_a_time_that_does_not_count_makes_a_dead_letter(self) -> None:
        oracle = over(span("5 us"), agg.count(), ahead=Duration(10))
        reasons = [reason for reason, _ in oracle.step(at(None, LATEST + 1, 111, 110, clock=100)).dead_letters]
        assert reasons == [Reason.NULL_TIME, Reason.TIME_OUT_OF_RANGE, Reason.TOO_FAR_AHEAD]
        assert column(oracle.step(END)) == [1]

    def test_record_by_record_a_record_is_judged_by_those_before_it(self) -> None:
        strategy = BoundedDisorder(Duration(5), per_record=True)
        outcome = over(span("9 us"), agg.count(), watermark=strategy).step(at(14, 20, 14, 15))
        assert [record["ts"] for _, record in outcome.dead_letters] == [14]
        assert (times(outcome), outcome.watermark) == ([14], 15)

    def test_other_strategies_are_not_read_here(self) -> None:
        with pytest.raises(fl.SpecError, match="FixedDistance"):
            over(span("9 us"), agg.count(), watermark=FixedDistance(Duration(5)))

    def test_a_value_that_its_type_cannot_hold_withholds_its_row_alone(self) -> None:
        """The sum of the first two rows is 2**63, one more than an int64 holds; that of the last two fits."""
        oracle = over(rows(1), agg.sum("v"), forget=NEVER)
        oracle.step(table((1, 2**62), (2, 2**62), (3, 0)))
        outcome = oracle.step(END)
        assert column(outcome) == [2**62, 2**62]
        assert outcome.withheld == ({"ts": 2, "v": 2**62, "c": str(2**63)},)


class TestStage:
    def handed_on(self, frame: Frame, function: RowFunction | Aggregate, forget: Duration | None) -> int:
        spec = OverSpec("ts", (("c", frame, function),), forget=forget, watermark=Explicit())
        stage = stage_oracle(spec)
        assert stage.hands_on() == START_OF_TIME
        stage.step(Step(watermark=100))
        handed_on = stage.hands_on()
        assert handed_on == spec.hands_on(100)
        stage.step(END)
        assert stage.hands_on() == END_OF_TIME
        return handed_on

    @pytest.mark.parametrize(
        ("frame", "function", "forget", "watermark"),
        [
            (span("50 us"), agg.count(), None, 100),
            (span("50 us", following="7 us"), agg.count(), None, 100 - 7),
            (rows(0, following=2), agg.count(), Duration(4), 100 - 2 * 4),
            (span(following="9 us"), lead("v", 2), Duration(4), 100 - 9),
            (rows(0), lead("v"), NEVER, START_OF_TIME),
        ],
    )
    def test_the_watermark_handed_on(
        self, frame: Frame, function: RowFunction | Aggregate, forget: Duration | None, watermark: int
    ) -> None:
        assert self.handed_on(frame, function, forget) == watermark

    def test_its_rows_are_records_of_the_next_stage(self) -> None:
        """The sum of the last two rows, and then the greatest of the last two sums."""
        first = OverSpec("ts", (("s", rows(1), agg.sum("v")),), forget=NEVER, watermark=Explicit())
        then = OverSpec("ts", (("most", rows(1), agg.max("s")),), forget=NEVER, watermark=Explicit())
        outcomes = run_graph([first, then], [table((1, 9), (2, -9), (3, 1), watermark=3), END])
        left = [[dict(row)["most"] for row in stages[-1].rows if isinstance(row, dict)] for stages in outcomes]
        assert left == [[9, 9], [0]]
        assert all(stage.counts.adds_up for stages in outcomes for stage in stages)


def test_rows_have_the_columns_that_came_and_the_new_ones() -> None:
    oracle = over(span("5 us"), agg.count())
    came: Record = {"ts": 1, "other": "x"}
    oracle.step(Step(records=(came,)))
    assert oracle.step(END).rows == ({"ts": 1, "other": "x", "c": 1},)
    assert came == {"ts": 1, "other": "x"}
