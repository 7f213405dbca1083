"""Joins by window in this process: rows of both sides in the same window, and what follows them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import FanlightError

ORDERS = [{"ts": 1, "id": 7, "v": 1}, {"ts": 2, "id": 8, "v": 2}, {"ts": 12, "id": 7, "v": 3}]
PAID = [{"ts": 9, "id": 7, "w": 5}, {"ts": 14, "id": 9, "w": 6}]
TEN = fl.tumbling("10 s")


def stream(records: Any, name: str, **options: Any) -> fl.Stream:
    """A bundle a record."""
    return fl.stream(records, **{"time": "ts", "unit": "s", "name": name, "rows": 1, "delay": "0 s", **options})


def joined(left: Any = ORDERS, right: Any = PAID, kind: fl.WindowKind = TEN, **options: Any) -> fl.JoinResult:
    return stream(left, "o").join(stream(right, "p"), fl.same_window(kind), **{"on": "id", **options})


def rows(result: Any) -> list[tuple[Any, ...]]:
    """Seconds of the window, then the values."""
    table = result.table().to_pylist()
    return [(row["window"]["start"].second, row["window"]["end"].second, row.get("v"), row.get("w")) for row in table]


@pytest.mark.parametrize("mode", ["eager", "on_close"])
@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(0, 10, 1, 5)]),
        ("left", [(0, 10, 1, 5), (0, 10, 2, None), (10, 20, 3, None)]),
        ("right", [(0, 10, 1, 5), (10, 20, None, 6)]),
        ("full", [(0, 10, 1, 5), (0, 10, 2, None), (10, 20, 3, None), (10, 20, None, 6)]),
        ("semi", [(0, 10, 1, None)]),
        ("anti", [(0, 10, 2, None), (10, 20, 3, None)]),
    ],
)
def test_order_7_was_paid_in_its_window_and_not_in_the_next(how: Any, expected: list[Any], mode: str) -> None:
    assert rows(getattr(joined(how=how), mode)()) == expected


def test_the_window_stands_first_and_keys_stand_once() -> None:
    assert joined().table().column_names == ["window", "ts", "id", "v", "ts_p", "w"]


def test_a_pair_leaves_once_for_each_window_that_has_both() -> None:
    """The windows that have 1 and 9 start at 0 and at -5; none has 12 and 9 but that from 5."""
    hops = joined(kind=fl.hopping("15 s", "5 s"))
    assert [(row[0], row[2]) for row in rows(hops)] == [(55, 1), (0, 1), (0, 3), (5, 3)]


def test_windows_that_start_together_and_those_of_a_calendar() -> None:
    assert rows(joined(kind=fl.cumulating("20 s", "10 s"))) == [(0, 10, 1, 5), (0, 20, 1, 5), (0, 20, 3, 5)]
    assert [row[2:] for row in rows(joined(kind=fl.calendar("day")))] == [(1, 5), (3, 5)]


class TestSessions:
    """A payment joins two orders to one session, although they are 8 s apart and the gap is 5 s."""

    orders = ({"ts": 1, "id": 7, "v": 1}, {"ts": 9, "id": 7, "v": 2}, {"ts": 9, "id": 8, "v": 3})
    paid = ({"ts": 5, "id": 7, "w": 5}, {"ts": 30, "id": 7, "w": 6})

    def of(self, how: str, *, late: bool = False, **options: Any) -> fl.JoinResult:
        more = [{"ts": 30, "id": 9, "v": 4}, {"ts": 10, "id": 7, "v": 5}] if late else []
        return joined([*self.orders, *more], self.paid, fl.session("5 s"), how=how, **options)

    def test_records_of_both_sides_make_a_session(self) -> None:
        assert rows(self.of("inner")) == [(1, 14, 1, 5), (1, 14, 2, 5)]
        assert rows(self.of("full"))[2:] == [(9, 14, 3, None), (30, 35, None, 6)]

    def test_semi_and_anti(self) -> None:
        assert [row[2] for row in rows(self.of("semi"))] == [1, 2]
        assert [row[2] for row in rows(self.of("anti"))] == [3]

    def test_a_record_whose_own_interval_is_over_is_expired(self) -> None:
        result = self.of("left", late=True)
        assert [row[2] for row in rows(result)] == [1, 2, 3, 4]
        assert result.accounting_by_input["o"].dead_letters == 1
        assert [row[2] for row in rows(self.of("left", late=True, lateness="20 s"))] == [3, 1, 2, 5, 4]

    def test_null_keys_are_sessions_of_their_own(self) -> None:
        nobody = [{"ts": second, "id": None, "v": second} for second in (1, 2)]
        assert [row[:2] for row in rows(joined(nobody, self.paid, fl.session("5 s"), how="left"))] == [(1, 6), (2, 7)]

    def test_keys_of_two_columns_of_text(self) -> None:
        left = [{"ts": 1, "a": "x", "b": "y", "v": 1}, {"ts": 2, "a": "xy", "b": "", "v": 2}]
        right = [{"ts": 3, "a": "x", "b": "y", "w": 3}]
        assert rows(joined(left, right, fl.session("5 s"), on=("a", "b"))) == [(1, 8, 1, 3)]


class TestCounts:
    """Two tests of a lot are compared with its next two measurements; lot 8 is measured once only."""

    tests = tuple({"ts": at, "id": lot, "v": at} for at, lot in ((1, 7), (2, 8), (3, 7), (4, 7), (5, 7), (60, 7)))
    measured = tuple({"ts": at, "id": lot, "w": at} for at, lot in ((2, 7), (9, 7), (10, 8), (40, 7), (50, 7)))

    def of(self, how: str, mode: str = "on_close", **options: Any) -> list[tuple[Any, ...]]:
        result = joined(self.tests, self.measured, fl.counting(2), how=how, retention=fl.retention(), **options)
        result = getattr(result, mode)()
        return [(row["window"]["start"], row.get("v"), row.get("w")) for row in result.table().to_pylist()]

    def test_windows_of_the_same_number_meet(self) -> None:
        first, second = [(1, 1, 2), (1, 1, 9), (1, 3, 2), (1, 3, 9)], [(3, 4, 40), (3, 4, 50), (3, 5, 40), (3, 5, 50)]
        assert self.of("inner") == [*first, *second, (1, 2, 10)]
        assert self.of("left")[-2:] == [(1, 2, 10), (5, 60, None)]
        assert self.of("semi") == [(1, 1, None), (1, 3, None), (3, 4, None), (3, 5, None), (1, 2, None)]
        assert self.of("anti") == [(5, 60, None)]

    def test_pairs_may_leave_at_once(self) -> None:
        """The second measurement comes beside the second test, and finds the first; lot 8 has to wait for its one."""
        assert self.of("inner", "eager")[:3] == [(1, 1, 2), (1, 1, 9), (1, 2, 10)]
        assert sorted(self.of("full", "eager"), key=repr) == sorted(self.of("full"), key=repr)

    def test_a_window_is_given_up_when_both_sides_have_passed_it(self) -> None:
        """Lot 7 is tested at 1, and measured when both sides are past 21: too late for its first window."""
        tests = [{"ts": at, "id": lot, "v": at} for at, lot in ((1, 7), (60, 9), (61, 9))]
        measured = [{"ts": at, "id": lot, "w": at} for at, lot in ((50, 9), (51, 9), (52, 7))]
        result = joined(tests, measured, fl.counting(2), how="full", retention=fl.retention("20 s"))
        told = [(row["v"], row["w"]) for row in result.table().to_pylist()]
        assert told == [(1, None), (60, 50), (60, 51), (61, 50), (61, 51)]
        assert [letter["reason"] for letter in result.dead_letters.to_pylist()] == ["expired"]

    def test_rows_without_a_key_are_alone_and_leave_at_once(self) -> None:
        nobody = [{"ts": 1, "id": None, "v": 1}, {"ts": 2, "id": None, "v": 2}]
        result = joined(nobody, self.measured, fl.counting(2), how="left", retention=fl.retention())
        assert [(row["window"], row["v"]) for row in result.table().to_pylist()] == [
            ({"start": 1, "end": 3}, number) for number in (1, 2)
        ]

    def test_without_keys_all_records_of_a_side_are_counted(self) -> None:
        found = self.of("inner", on=None, where=fl.col("v") == fl.col("p.ts"))
        assert found == [(1, 2, 2)]

    def test_nothing_follows_it_by_time(self) -> None:
        result = joined(self.tests, self.measured, fl.counting(2), retention=fl.retention())
        with pytest.raises(FanlightError, match="has numbers and no time"):
            result.sort()


def test_a_row_between_windows_is_a_dead_letter() -> None:
    result = joined(kind=fl.hopping("5 s", "10 s", gaps=True), how="left")
    assert [row[2] for row in rows(result)] == [1, 2, 3]
    assert [letter["reason"] for letter in result.dead_letters.to_pylist()] == ["no_window"]


def test_a_record_is_judged_by_the_watermark_of_its_own_side() -> None:
    """The order of 3 comes after one of 12, and its window is over; payments are slower, and none is late."""
    late = [*ORDERS, {"ts": 3, "id": 8, "v": 4}]
    result = joined(left=late, how="left")
    assert [row[2] for row in rows(result)] == [1, 2, 3]
    assert result.accounting_by_input["o"].dead_letters == 1
    assert [row[2] for row in rows(joined(left=late, how="left", lateness="5 s"))] == [1, 2, 4, 3]


def test_null_keys_match_nothing_and_leave_alone() -> None:
    result = joined([{"ts": 1, "id": None, "v": 1}], [{"ts": 1, "id": None, "w": 2}], how="full")
    assert rows(result) == [(0, 10, 1, None), (0, 10, None, 2)]


class TestTheNextStage:
    @pytest.mark.parametrize("mode", ["eager", "on_close"])
    @pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
    def test_any_stage_can_follow_any_type_and_nothing_is_late(self, how: Any, mode: str) -> None:
        result = getattr(joined(how=how), mode)()
        counted = result.window(TEN).agg(n=fl.count())
        assert sum(counted.table()["n"].to_pylist()) == result.table().num_rows
        assert counted.accounting.dead_letters == 0

    def test_the_time_of_a_row_is_the_last_instant_of_its_window(self) -> None:
        told = joined().sort().table().to_pylist()
        assert [(row["window_start"].second, row["window_end"].second, row["w"]) for row in told] == [(0, 10, 5)]
        assert told[0]["window_time"].microsecond == 999_999

    def test_a_column_called_pane_is_data(self) -> None:
        result = joined([{"ts": 1, "id": 7, "pane": 4}]).sort().table()
        assert result["pane"].to_pylist() == [4]

    def test_a_join_of_a_join(self) -> None:
        again = joined(how="left").join(stream(PAID, "q"), fl.same_window(TEN), on="id", how="left")
        assert [row["w_q"] for row in again.table().to_pylist()] == [5, None, None]


def test_explain_tells_the_windows() -> None:
    told = joined(how="left", lateness="2 s").eager().explain()
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in told.splitlines())
    assert lines["windows"] == "tumbling 10 s, lateness 2 s"
    assert lines["matches"] == "rows in the same window"
    assert lines["fires"].endswith("a row without a match when its window is complete")
    assert lines["keeps"].endswith("rate × (10 s + delays)")


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda: joined().stamped("left"), "has the time of its window"),
        (lambda: joined([{"ts": 1, "id": 7, "window": 1}]).table(), "has a column 'window' of its own"),
        (lambda: joined(how="cross"), "is not one of inner, left, right"),
        (lambda: joined(retention=fl.retention("1 h")), "the windows of this join end by their times"),
        (lambda: joined(combine="greatest"), "about rows that match by an interval"),
        (lambda: joined().retracting(), "not kept up to date"),
        (lambda: joined().semantics("kafka"), "about interval joins"),
        (lambda: stream([], "o", op="op").join(stream(PAID, "p"), fl.same_window(TEN), on="id"), "Sort it first"),
    ],
)
def test_what_is_refused(run: Any, told: str) -> None:
    with pytest.raises(FanlightError, match=told):
        run()
