"""Joins of sides that bring changes, and joins that take their rows back."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import InputError

WIDE = fl.interval("0 s", "1 min")
ORDERS = [
    (10, "+I", 1, 30),
    (20, "+I", 2, 12),
    (25, "+U", 2, 13),  # order 2 costs more
    (40, "+I", 3, 7),
    (41, "-D", 3, None),  # order 3 is cancelled
    (42, "-D", 9, None),  # there never was an order 9
]
PAID = [{"at": 15, "order": 1, "cents": 1000}, {"at": 41, "order": 3, "cents": 700}]
HOWS = ("inner", "left", "right", "full", "semi", "anti")


def orders(changes: Any = ORDERS, **options: Any) -> fl.Stream:
    """A bundle a change; the delay is as long as changes may take."""
    records = [dict(zip(("ts", "op", "id", "price"), change, strict=True)) for change in changes]
    said = {"time": "ts", "unit": "s", "rows": 1, "op": "op", "unique": "id", "delay": "1 min", "name": "o"}
    return fl.stream(records, **{**said, **options}).key_by("id")


def payments(records: Any = PAID, **options: Any) -> fl.Stream:
    said = {"time": "at", "unit": "s", "rows": 1, "delay": "1 min", "name": "p"}
    return fl.stream(records, **{**said, **options}).key_by("order")


def plain_orders() -> fl.Stream:
    """The orders that are left, as rows."""
    left = [{"ts": 10, "id": 1, "price": 30}, {"ts": 25, "id": 2, "price": 13}]
    return fl.stream(left, time="ts", unit="s", delay="1 min", name="o").key_by("id")


def told(result: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in result.table().to_pylist()]


def net(result: Any) -> Counter[tuple[Any, ...]]:
    """What is left of the rows of a retracting join."""
    found: Counter[tuple[Any, ...]] = Counter()
    for *row, op in told(result):
        found[tuple(row)] += {"+I": 1, "-D": -1}[op]
        assert found[tuple(row)] >= 0
    return +found


@pytest.mark.parametrize("how", HOWS)
def test_a_deleted_row_was_never_there_and_an_update_replaces_it(how: Any) -> None:
    changed, plain = orders().join(payments(), WIDE, how=how), plain_orders().join(payments(), WIDE, how=how)
    assert told(changed.on_close()) == told(plain.on_close())
    assert net(changed.retracting()) == Counter(told(plain.on_close()))


def test_an_inner_join_of_changes_leaves_on_close() -> None:
    assert told(orders().join(payments(), WIDE)) == [(10, 1, 30, 15, 1000)]


def test_a_delete_without_its_row_is_a_dead_letter() -> None:
    """Order 9 never came. With a short delay order 1 is passed when it is to be deleted; normalize has forgotten it."""
    assert [one["reason"] for one in orders().join(payments(), WIDE).dead_letters.to_pylist()] == ["no_such_row"]
    late = [(10, "+I", 1, 30), (50, "+I", 2, 1), (51, "-D", 1, None), (12, "+I", 4, 1)]
    result = orders(late, delay="5 s").join(payments(), WIDE, how="left")
    assert [one["reason"] for one in result.dead_letters.to_pylist()] == ["no_such_row", "expired"]
    assert [row[1] for row in told(result)] == [1, 2]


def test_changes_on_the_right_and_on_both_sides() -> None:
    paid = [
        {"at": 15, "order": 1, "cents": 1000, "op": "+I"},
        {"at": 26, "order": 2, "cents": 1, "op": "+I"},
        {"at": 15, "order": 1, "cents": 1000, "op": "-D"},
    ]
    for left in (plain_orders(), orders()):
        result = left.join(payments(paid, op="op"), WIDE, how="left")
        assert told(result) == [(10, 1, 30, None, None), (25, 2, 13, 26, 1)]
        assert net(result.retracting()) == Counter(told(result))


def test_an_update_that_changes_the_key_finds_other_partners() -> None:
    moved = [(10, "+I", 1, 7), (11, "+U", 1, 8)]
    paid = [{"at": 15, "cents": 7}, {"at": 16, "cents": 8}]
    left = orders(moved).key_by("price")
    right = fl.stream(paid, time="at", unit="s", delay="1 min", name="p").key_by("cents")
    assert [(row[3], row[2]) for row in told(left.join(right, WIDE).retracting())] == [(15, 7), (15, 7), (16, 8)]
    assert told(left.join(right, WIDE)) == [(11, 1, 8, 16)]


class TestRetracting:
    def test_a_row_alone_leaves_at_once_and_gives_way_to_its_first_match(self) -> None:
        first = [{"at": 0, "order": 0, "cents": 0}, *PAID[:1], {"at": 16, "order": 1, "cents": 5}]
        result = plain_orders().join(payments(first), WIDE, how="left").retracting()
        assert [(row[-1], row[1], row[4]) for row in told(result)] == [
            ("+I", 1, None), ("+I", 2, None), ("-D", 1, None), ("+I", 1, 1000), ("+I", 1, 5),
        ]  # fmt: skip

    def test_it_leaves_again_when_its_last_match_is_deleted(self) -> None:
        paid = [
            {"at": 15, "order": 1, "cents": cents, "op": op}
            for cents, op in [(1, "+I"), (2, "+I"), (1, "-D"), (2, "-D")]
        ]
        result = plain_orders().join(payments(paid, op="op"), WIDE, how="left").retracting()
        assert [(row[-1], row[4]) for row in told(result) if row[1] == 1] == [
            ("+I", 1), ("+I", 2), ("-D", 1), ("-D", 2), ("+I", None),
        ]  # fmt: skip

    def test_all_that_is_taken_back_comes_before_all_that_is_new(self) -> None:
        """One bundle of each side a step: two payments at once."""
        two = [
            {"at": 0, "order": 0, "cents": 0},
            {"at": 15, "order": 1, "cents": 1},
            {"at": 26, "order": 2, "cents": 2},
        ]
        result = plain_orders().join(payments([two[0]]), WIDE, how="left").retracting().operator()
        result.add([{"ts": 10, "id": 1, "price": 30}, {"ts": 25, "id": 2, "price": 13}], source="o")
        result.add(two[1:], source="p")
        assert [(row["op"], row["id"]) for row in result.take().to_pylist()] == [
            ("+I", 1), ("+I", 2), ("-D", 1), ("-D", 2), ("+I", 1), ("+I", 2),
        ]  # fmt: skip

    @pytest.mark.parametrize("how", HOWS)
    def test_sorted_it_is_the_join_on_close(self, how: Any) -> None:
        """Nothing that is taken back is late for what follows."""
        stamp: Any = "least" if how == "full" else "right" if how == "right" else "left"
        result = orders().join(payments(), WIDE, how=how).stamped(stamp)
        assert Counter(told(result.retracting().sort())) == Counter(told(result.on_close()))

    def test_windows_after_it_take_its_rows_back(self) -> None:
        result = orders().join(payments(), WIDE, how="left").retracting()
        counted = result.window(fl.tumbling("1 min")).agg(n=fl.count(), cents=fl.sum("cents"))
        assert counted.table().select(["n", "cents"]).to_pylist() == [{"n": 2, "cents": 1000}]

    def test_its_rows_can_be_joined_again(self) -> None:
        """Order 2 has no payment; its padded row finds none among the refunds, the pair of order 1 finds its own."""
        paid = orders().join(payments(), WIDE, how="left").retracting()
        refunds = fl.stream([{"ts": 18, "id": 1, "back": 4}], time="ts", unit="s", name="r").key_by("id")
        again = paid.key_by("id").join(refunds, WIDE, how="left")
        assert [(row["id"], row["cents"], row["back"]) for row in again.table().to_pylist()] == [
            (1, 1000, 4),
            (2, None, None),
        ]
        assert net(again.retracting()) == Counter(told(again))

    def test_a_column_op_that_says_nothing_is_refused(self) -> None:
        some = fl.stream([{"ts": 1, "id": 1, "op": "x"}], time="ts", unit="s", name="o").key_by("id")
        with pytest.raises(InputError, match="a column 'op', and the result says there what each row does"):
            some.join(payments(), WIDE).retracting().table()

    def test_a_join_of_corrected_windows_is_as_late_as_they_are(self) -> None:
        """The record at 3 comes when its minute is over: the count of shop a is corrected, and the join follows."""
        sales = [{"ts": ts, "shop": "a"} for ts in (1, 2, 61, 3, 130)]
        minutes = fl.stream(sales, time="ts", unit="s", rows=1, delay="0 s", name="o").key_by("shop")
        counts = minutes.window(fl.tumbling("1 min"), lateness="1 h").retracting().agg(n=fl.count())
        shops = fl.stream([{"ts": 59, "shop": "a", "city": "x"}], time="ts", unit="s", name="p").key_by("shop")
        result = counts.key_by("shop").join(shops, fl.interval("-2 min", "0 s"), how="semi")
        assert [row["n"] for row in result.table().to_pylist()] == [3, 1]
        assert result.accounting.dead_letters == 0


class TestStamps:
    @pytest.mark.parametrize(("stamp", "seconds"), [("least", [10, 25, 41]), ("greatest", [15, 25, 41])])
    def test_the_lesser_or_greater_time_of_those_that_are_there(self, stamp: Any, seconds: list[int]) -> None:
        result = plain_orders().join(payments(), WIDE, how="full").stamped(stamp)
        assert [int(row["joined_time"].timestamp()) for row in result.table().to_pylist()] == seconds
        counted = result.window(fl.tumbling("20 s")).agg(n=fl.count())
        assert sum(counted.table().column("n").to_pylist()) == 3
        assert counted.accounting.dead_letters == 0
