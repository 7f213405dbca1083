"""Joins in this process: two streams in, pairs out; and what cannot be joined."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import FanlightError, InputError, SpecError
from fanlight.model.time.timestamp import END_OF_TIME

S = 1_000_000
FIVE = fl.interval("0 s", "5 s")
ORDERS = [{"ts": 1, "id": 7, "v": 1}, {"ts": 2, "id": 8, "v": 2}]
PAID = [{"ts": 3, "id": 7, "w": 5}, {"ts": 4, "id": 9, "w": 6}]


def stream(records: Any, name: str | None = None, **options: Any) -> fl.Stream:
    """A bundle a record."""
    in_order = {} if "watermark" in options else {"delay": "0 s"}
    return fl.stream(records, **{"time": "ts", "unit": "s", "name": name, "rows": 1, **in_order, **options})


def joined(left: Any = ORDERS, right: Any = PAID, match: Any = FIVE, **options: Any) -> fl.JoinResult:
    return stream(left, "o").join(stream(right, "p"), match, **{"on": "id", **options})


def told_by_hand(**options: Any) -> Any:
    """An operator whose watermarks are told."""
    left, right = (stream([], name, watermark=fl.Explicit()) for name in ("o", "p"))
    return left.join(right, FIVE, **{"on": "id", **options})


def rows(result: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.table().to_pylist()
    return found


PAIR = {"ts": 1, "id": 7, "v": 1, "ts_p": 3, "w": 5}
ORDER = {"ts": 2, "id": 8, "v": 2, "ts_p": None, "w": None}
PAYMENT = {"ts": None, "id": 9, "v": None, "ts_p": 4, "w": 6}


class TestTypes:
    @pytest.mark.parametrize("mode", ["eager", "on_close"])
    @pytest.mark.parametrize(
        ("how", "expected"),
        [
            ("inner", [PAIR]),
            ("left", [PAIR, ORDER]),
            ("right", [PAIR, PAYMENT]),
            ("full", [PAIR, ORDER, PAYMENT]),
            ("semi", ORDERS[:1]),
            ("anti", ORDERS[1:]),
        ],
    )
    def test_order_7_was_paid_8_was_not_and_9_was_never_ordered(
        self, how: Any, expected: list[dict[str, Any]], mode: str
    ) -> None:
        assert rows(getattr(joined(how=how), mode)()) == expected

    def test_without_keys_times_alone_count(self) -> None:
        result = stream(ORDERS, "o").join(stream(PAID, "p"), FIVE)
        assert [(row["ts"], row["ts_p"]) for row in rows(result)] == [(1, 3), (1, 4), (2, 3), (2, 4)]

    def test_keys_of_other_names_stand_once_under_the_left_one(self) -> None:
        paid = [{"ts": 3, "order": 7}, {"ts": 4, "order": 9}]
        result = stream(ORDERS, "o").key_by("id").join(stream(paid, "p").key_by("order"), FIVE, how="full")
        assert [(row["id"], row["v"], row["ts_p"]) for row in rows(result)] == [(7, 1, 3), (8, 2, None), (9, None, 4)]
        assert "order" not in rows(result)[0]

    def test_streams_without_a_name_are_left_and_right(self) -> None:
        result = stream(ORDERS).join(stream(PAID), FIVE, on="id", where=fl.col("left.v") < fl.col("right.w"))
        assert rows(result) == [{"ts": 1, "id": 7, "v": 1, "ts_right": 3, "w": 5}]

    def test_a_null_key_has_no_match(self) -> None:
        none = [{"ts": 1, "id": None, "v": 1}]
        assert [row["v"] for row in rows(joined(none, [{"ts": 1, "id": None, "w": 1}], how="anti"))] == [1]


class TestWhenRowsLeave:
    def test_a_pair_leaves_at_once_and_an_order_alone_when_no_payment_can_come(self) -> None:
        """The order of 3 s may be paid up to 8 s: it leaves when the watermark of payments is above that."""
        operator = told_by_hand(how="left").eager().operator()
        operator.add([{"ts": 3, "id": 7, "v": 1}, {"ts": 4, "id": 8, "v": 2}], source="o")
        operator.add([{"ts": 4, "id": 8, "w": 9}], source="p")
        assert operator.take().column("v").to_pylist() == [2]
        operator.advance(watermark=8 * S, source="p")
        assert len(operator.take()) == 0
        operator.advance(watermark=8 * S + 1, source="p")
        assert operator.take().column("v").to_pylist() == [1]

    def test_a_record_is_late_by_the_watermark_of_its_own_input(self) -> None:
        operator = told_by_hand().operator()
        operator.advance(watermark=100 * S, source="o")
        operator.add([{"ts": 50, "id": 7, "w": 1}], source="p")
        operator.add([{"ts": 99, "id": 7, "v": 1}], source="o")
        (letter,) = operator.take_dead_letters().to_pylist()
        assert (letter["reason"], letter["record"]["o"]) == ("expired", {"ts": 99, "id": 7, "v": 1})
        assert {name: one.accepted for name, one in operator.accounting_by_input.items()} == {"p": 1, "o": 0}

    def test_a_watermark_counts_that_was_told_before_the_first_record(self) -> None:
        operator = told_by_hand().operator()
        operator.advance(watermark=100 * S, source="o")
        operator.add([{"ts": 99, "id": 7, "v": 1}], source="o")
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]

    def test_what_comes_after_the_end_is_late(self) -> None:
        operator = told_by_hand(how="left").operator()
        operator.add([{"ts": 1, "id": 7, "v": 1}], source="o")
        operator.end()
        operator.add([{"ts": 1_000, "id": 7, "v": 1}], source="o")
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]
        assert len(operator.take()) == 1

    def test_lateness_lets_records_come_later_and_rows_wait_for_them(self) -> None:
        operator = told_by_hand(how="left", lateness="10 s").operator()
        for side in ("o", "p"):
            operator.advance(watermark=100 * S, source=side)
        operator.add([{"ts": 90, "id": 7, "v": 1}, {"ts": 89, "id": 7, "v": 2}], source="o")
        assert len(operator.take_dead_letters()) == 1
        operator.add([{"ts": 95, "id": 7, "w": 1}], source="p")
        for side in ("o", "p"):
            operator.advance(watermark=106 * S, source=side)
        assert operator.take().select(["v", "w"]).to_pylist() == [{"v": 1, "w": 1}]

    def test_a_side_that_ends_lets_the_other_go_on_alone(self) -> None:
        operator = told_by_hand(how="left").operator()
        operator.add([{"ts": 1, "id": 7, "v": 1}], source="o")
        operator.advance(watermark=END_OF_TIME, source="p")
        assert len(operator.take()) == 0
        operator.advance(watermark=2 * S, source="o")
        assert operator.take().column("v").to_pylist() == [1]

    def test_an_idle_side_has_the_watermark_of_the_other(self) -> None:
        """The payments are silent for 30 s of the clock: the orders alone say how far time is."""
        operator = told_by_hand(how="left", idle="30 s").operator()
        operator.add([{"ts": 1, "id": 7, "w": 1}], source="p", clock=0)
        operator.add([{"ts": 1, "id": 8, "v": 1}], source="o", clock=0)
        operator.advance(watermark=60 * S, source="o", clock=29 * S)
        assert len(operator.take()) == 0
        operator.advance(watermark=61 * S, source="o", clock=30 * S)
        assert operator.take().column("v").to_pylist() == [1]
        operator.add([{"ts": 60, "id": 7, "w": 1}], source="p", clock=31 * S)
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]


class TestColumns:
    @pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
    def test_one_side_that_brings_nothing(self, how: Any) -> None:
        """It has no columns; the other has those it would have beside it."""
        left = [row["v"] for row in rows(joined(right=[], how=how))] if how != "right" else []
        assert left == ([1, 2] if how in ("left", "full", "anti") else [])
        right = rows(joined(left=[], how=how))
        expected = [{"id": 7, "ts_p": 3, "w": 5}, {"id": 9, "ts_p": 4, "w": 6}]
        assert right == (expected if how in ("right", "full") else [])

    def test_two_sides_that_bring_nothing(self) -> None:
        assert len(joined([], [], how="full").table()) == 0

    def test_columns_that_come_late_are_null_in_the_rows_before(self) -> None:
        operator = told_by_hand(how="full").eager().operator()
        operator.add([{"ts": 1, "id": 7, "w": None}], source="p")
        operator.advance(watermark=50 * S, source="o")
        operator.add([{"ts": 60, "id": 7, "w": 3}], source="p")
        operator.add([{"ts": 60, "id": 7, "v": 5}], source="o")
        assert operator.take().to_pylist() == [
            {"id": 7, "ts_p": 1, "w": None, "ts": None, "v": None},
            {"id": 7, "ts_p": 60, "w": 3, "ts": 60, "v": 5},
        ]

    def test_a_column_gets_its_type_with_its_first_value(self) -> None:
        left = [{"ts": 1, "id": None, "v": None}, {"ts": 2, "id": 7, "v": 4}]
        right = [{"ts": 3, "id": None, "w": None}, {"ts": 4, "id": 7, "w": 1.5}]
        result = joined(left, right, how="full")
        assert [(row["v"], row["w"]) for row in rows(result)] == [(None, None), (4, 1.5), (None, None)]
        assert result.accounting.dead_letters == 0

    def test_times_of_other_types_and_units(self) -> None:
        left = fl.stream([{"at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "id": 7}], time="at", name="o")
        right = stream([{"ts": 1_500, "id": 7}, {"ts": 6_001, "id": 7}], "p", unit="ms")
        (row,) = rows(left.join(right, FIVE, on="id"))
        assert row["ts"] == 1_500

    def test_times_that_cannot_be_read_are_dead_letters_of_their_side(self) -> None:
        result = joined([*ORDERS, {"ts": None, "id": 1, "v": 0}], [*PAID, {"ts": 10**15, "id": 1, "w": 0}])
        assert len(rows(result)) == 1
        letters = {one["record"]["input"]: one["reason"] for one in result.dead_letters.to_pylist()}
        assert letters == {"o": "null_time", "p": "time_out_of_range"}
        counts = result.accounting_by_input
        assert all(one.adds_up and one.dead_letters == 1 for one in counts.values())

    def test_keys_of_other_numbers_are_compared_as_numbers(self) -> None:
        left = pa.table({"ts": [1], "id": pa.array([7], pa.int32())})
        right = pa.table({"ts": [1, 1], "id": [7, 2**40]})
        assert [row["id"] for row in rows(joined(left, right, how="full"))] == [7, 2**40]
        assert [row["id"] for row in rows(joined(right=[{"ts": 3, "id": 7.0}, {"ts": 3, "id": 7.5}]))] == [7]

    def test_a_column_called_like_those_that_every_join_has_is_no_other(self) -> None:
        both = [{"ts": 1, "id": 7, "input": 1, "time": 2}]
        (row,) = rows(joined(both, both))
        assert (row["input"], row["time_p"]) == (1, 2)

    def test_a_condition_reads_joined_columns_and_those_of_a_side(self) -> None:
        for condition in (fl.col("v") < fl.col("w"), fl.col("o.v") < fl.col("p.w"), fl.col("ts_p") > fl.col("ts")):
            assert len(rows(joined(where=condition))) == 1
        assert rows(joined(where=fl.col("v") > fl.col("w"))) == []
        assert [row["w"] for row in rows(joined(where=fl.col("v") > 1, how="left"))] == [None, None]


class TestStages:
    def test_windows_over_joined_rows(self) -> None:
        """Ten orders, each paid 3 s later, in bundles of one: none is late for the windows after the join."""
        left = [{"ts": second, "id": second % 3, "v": 1} for second in range(10)]
        right = [{"ts": second + 3, "id": second % 3, "w": second} for second in range(10)]
        for how in ("inner", "right"):
            for mode in ("eager", "on_close"):
                result = getattr(joined(left, right, fl.interval("3 s", "3 s"), how=how), mode)()
                windows = result.window(fl.tumbling("5 s")).agg(n=fl.count(), w=fl.sum("w"))
                assert sum(windows.table().column("n").to_pylist()) == 10
                assert windows.accounting.dead_letters == 0

    def test_a_join_over_results_of_windows(self) -> None:
        left, right = (
            stream(some, name).key_by("id").window(fl.tumbling("1 min")).agg(**{called: fl.count()})
            for some, name, called in ((ORDERS, "o", "n"), (PAID, "p", "m"))
        )
        result = left.join(right, fl.same_time(), on="id", how="full")
        assert [(row["id"], row["n"], row["m"]) for row in rows(result)] == [(7, 1, 1), (8, 1, None), (9, None, 1)]

    def test_results_and_a_stream(self) -> None:
        """The windows end at 2 s and 4 s: the payment at 3 s comes after the first."""
        counted = stream(ORDERS, "o").key_by("id").window(fl.tumbling("2 s")).agg(n=fl.count())
        result = counted.join(stream(PAID, "p"), FIVE, on="id", how="left")
        assert [(row["id"], row["n"], row["w"]) for row in rows(result)] == [(7, 1, 5), (8, 1, None)]

    def test_a_join_of_a_join(self) -> None:
        result = joined().join(stream(PAID, "q"), FIVE, on="id")
        assert [(row["v"], row["w"], row["w_q"]) for row in rows(result)] == [(1, 5, 5)]

    def test_where_and_select_on_a_side(self) -> None:
        left, right = (
            stream(ORDERS, "o").where(fl.col("v") > 1),
            stream(PAID, "p").select("ts", "id", x=fl.col("w") * 2),
        )
        result = left.join(right, FIVE, on="id", how="full")
        assert [(row["v"], row["x"]) for row in rows(result)] == [(2, None), (None, 10), (None, 12)]
        assert result.accounting_by_input["o"].filtered == 1


def test_explain_tells_the_sides() -> None:
    told = joined(how="left", where=fl.col("v") > 1, match=fl.interval("-1 s", "5 s", "left")).explain()
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in told.splitlines())
    assert lines["keys"] == "`id` of o = `id` of p"
    assert lines["time"].startswith("`ts` of o in s and `ts` of p in s, event time")
    assert lines["joins"] == "o with p, left"
    assert lines["matches"] == "right time from left time in [-1 s, 5 s)"
    assert lines["condition"] == "where (v > 1)"
    assert lines["keeps"].startswith("rows of o: rate × 5 s; rows of p: rate × 6 s; by the bounds")


class TestRefused:
    @pytest.mark.parametrize(
        ("declare", "told"),
        [
            (lambda: stream(ORDERS, "o").join(stream(PAID, "o"), FIVE, on="id"), "both sides are called 'o'"),
            (lambda: stream(ORDERS, "o").key_by("id").join(stream(PAID, "p"), FIVE), "1 keys and the right side 0"),
            (lambda: stream(ORDERS, "o").join(PAID, FIVE, on="id"), "list is no stream"),
            (lambda: joined(match="5 s"), "says nothing of when rows match"),
            (lambda: joined(how="cross"), "is not one of inner, left, right"),
            (lambda: joined(where="v > 1"), "not an expression"),
            (lambda: joined(lateness="-1 s"), "from 0 up"),
            (lambda: joined(how="full").stamped("left"), "may have no left row"),
            (lambda: joined(how="full").window(fl.tumbling("1 s")), "nothing can follow it by time"),
            (lambda: stream([], "o", op="op").join(stream(PAID, "p"), FIVE, on="id").eager(), "Use on_close.*retract"),
            (lambda: stream([], "o", op="op").join(stream([], "op"), FIVE, on="id"), "a column that every join has"),
            (lambda: fl.union(a=stream([]), b=stream([])).join(stream(PAID, "p"), FIVE), "has several inputs"),
            (lambda: stream([], "o", ahead="1 h").join(stream(PAID, "p"), FIVE, on="id"), "`ahead` is 1 h"),
        ],
    )
    def test_when_it_is_declared(self, declare: Any, told: str) -> None:
        with pytest.raises(SpecError, match=told):
            declare()

    @pytest.mark.parametrize(
        ("run", "told"),
        [
            (lambda: joined(on="idd"), "Did you mean 'id'"),
            (lambda: joined(where=fl.col("zz") > 1), "reads 'zz', which is not there"),
            (lambda: joined(where=fl.col("v") + 1), "a condition is true or false"),
            (lambda: joined(right=[{"ts": 1, "id": "7"}]), "none of them would ever be equal"),
            (lambda: joined([{"ts": 1, "id": 7, "w": 1, "w_p": 1}]), "would be called 'w_p'"),
        ],
    )
    def test_when_the_columns_are_known(self, run: Any, told: str) -> None:
        with pytest.raises(FanlightError, match=told) as raised:
            run().table()
        assert isinstance(raised.value, SpecError | InputError)
