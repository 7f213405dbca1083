"""Streams of changes: what windows, sessions and sort give is what the rows give that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fanlight as fl

Change = dict[str, Any]


def change(op: str | None, second: int, number: int, shop: str = "a", price: int | None = 1) -> Change:
    return {"op": op, "ts": second, "id": number, "shop": shop, "price": price}


def orders(changes: list[Change], **options: Any) -> fl.Stream:
    """Orders that are told apart by their ids, and a bundle a change; nothing is late."""
    said: dict[str, Any] = {"op": "op", "unique": "id", "rows": 1, "delay": "10 minutes"}
    return fl.stream(changes, time="ts", unit="s", **{**said, **options})


def by_shop(changes: list[Change], **options: Any) -> fl.Result:
    windows = orders(changes, **options).key_by("shop").window(fl.tumbling("1 minute"))
    return windows.agg(n=fl.count(), total=fl.sum("price"), dear=fl.max("price"))


def rows(result: Any, *names: str) -> list[tuple[Any, ...]]:
    """Where each window starts, in seconds, and these columns."""
    return [
        (int(row["window"]["start"].timestamp()), *(row[name] for name in names)) for row in result.table().to_pylist()
    ]


def reasons(result: Any) -> list[tuple[str, int]]:
    """Of the dead letters of the stage that takes the changes."""
    first = result.stages[0].own_dead_letters
    return [(one["reason"], one["record"]["id"]) for one in first.to_pylist()]


class TestOperations:
    def test_rows_are_inserted_replaced_and_deleted(self) -> None:
        result = by_shop(
            [
                change("+I", 1, 1, price=5),
                change("+I", 2, 2, price=7),
                change("+U", 3, 1, price=6),
                change("-D", 4, 2, price=None),
                change("+I", 5, 3, price=1),
            ]
        )
        assert rows(result, "shop", "n", "total", "dear") == [(0, "a", 2, 7, 6)]
        assert result.stages[0].accounting.accepted == 5
        assert all(stage.accounting.adds_up for stage in result.stages)

    def test_other_words_mean_what_the_stream_says(self) -> None:
        """Debezium's letters; the codes still mean themselves."""
        letters = {"c": "+I", "r": "+I", "u": "+U", "d": "-D"}
        result = by_shop(
            [change("c", 1, 1), change("r", 1, 2), change("u", 2, 1, price=9), change("d", 3, 2), change("+I", 4, 3)],
            operations=letters,
        )
        assert rows(result, "n", "total") == [(0, 2, 10)]

    def test_a_word_that_is_none_is_a_letter(self) -> None:
        result = by_shop([change("+I", 1, 1), change("x", 2, 2), change(None, 3, 3), change("d", 4, 4)])
        assert rows(result, "n") == [(0, 1)]
        assert reasons(result) == [("no_such_operation", number) for number in (2, 3, 4)]
        details = result.stages[0].own_dead_letters.column("detail").to_pylist()
        assert details == ['{"op": "x"}', '{"op": null}', '{"op": "d"}']

    def test_a_delete_that_finds_nothing_is_a_letter(self) -> None:
        result = by_shop([change("-D", 1, 9), change("+I", 2, 1), change("-D", 3, 1), change("-D", 4, 1)])
        assert len(result.table()) == 0
        assert reasons(result) == [("no_such_row", 9), ("no_such_row", 1)]
        assert result.dead_letters.column("reason").to_pylist() == ["no_such_row"] * 2

    def test_without_unique_columns_a_delete_takes_an_equal_row(self) -> None:
        result = by_shop(
            [
                change("+I", 1, 1, price=5),
                change("+I", 1, 1, price=5),
                change("-D", 1, 1, price=5),
                change("-D", 1, 1, price=6),
                change("+I", 2, 1, price=8),
            ],
            unique=(),
        )
        assert rows(result, "n", "total") == [(0, 2, 13)]
        assert reasons(result) == [("no_such_row", 1)]

    def test_a_column_that_is_not_declared_is_data(self) -> None:
        result = fl.stream([change("-D", 1, 1)], time="ts", unit="s").key_by("op").window(fl.tumbling("1 minute"))
        assert rows(result.agg(n=fl.count()), "op", "n") == [(0, "-D", 1)]

    def test_what_is_late_is_judged_by_its_own_time(self) -> None:
        """The watermark is at 150 when the changes of the first minute come: its rows are forgotten by then."""
        late = [change("+I", 1, 1), change("+I", 150, 2), change("-D", 2, 1), change("+U", 151, 2, price=4)]
        result = by_shop(late, delay="0 s")
        assert rows(result, "n", "total") == [(0, 1, 1), (120, 1, 4)]
        assert reasons(result) == [("expired", 1)]


class TestMoves:
    def test_an_order_that_moves_to_another_shop(self) -> None:
        """The key of the windows is not what tells orders apart: the old shop loses it."""
        moved = [change("+I", 1, 1, "a", 5), change("+I", 2, 2, "a", 1), change("+U", 3, 1, "b", 5)]
        assert rows(by_shop(moved), "shop", "n", "total") == [(0, "a", 1, 1), (0, "b", 1, 5)]

    def test_a_shop_that_has_lost_all_has_no_row(self) -> None:
        moved = [change("+I", 1, 1, "a", 5), change("+U", 3, 1, "b", 5)]
        assert rows(by_shop(moved), "shop", "n") == [(0, "b", 1)]

    def test_an_order_that_moves_to_another_window(self) -> None:
        moved = [change("+I", 1, 1, price=5), change("+U", 70, 1, price=6), change("+I", 2, 2, price=1)]
        assert rows(by_shop(moved), "n", "total") == [(0, 1, 1), (60, 1, 6)]

    def test_what_was_shown_is_taken_back_where_the_order_left(self) -> None:
        """Early firings show the order in the first shop; then it has moved, and what the shop showed is deleted."""
        moved = [change("+I", 1, 1, "a", 5), change("+U", 70, 1, "b", 6), change("-D", 71, 1)]
        windows = (
            orders(moved).key_by("shop").window(fl.tumbling("1 minute")).trigger(fl.at_watermark(early=fl.after(1)))
        )
        result = windows.agg(total=fl.sum("price"))
        shown = [(row["pane"]["op"], row["shop"], row["total"]) for row in result.table().to_pylist()]
        assert shown == [("+I", "a", 5), ("-D", "a", 5), ("+I", "b", 6), ("-D", "b", 6)]

    def test_a_row_is_taken_back_as_it_was_inserted(self) -> None:
        """A delete needs the id alone: shop, price and time of what it takes away are known."""
        gone = [change("+I", 1, 1, "a", 5), change("+I", 2, 2, "a", 2), {"op": "-D", "ts": 100, "id": 1}]
        assert rows(by_shop(gone), "shop", "n", "total", "dear") == [(0, "a", 1, 2, 2)]


class TestStages:
    @pytest.mark.parametrize("word", ["accumulating", "retracting"])
    def test_stages_whose_firings_replace_each_other(self, word: str) -> None:
        """Each shop fires at every change; whoever follows counts each once, as it was in the end."""
        sales = [change("+I", second, second, shop, 1) for second, shop in enumerate("abaacb")]
        first = fl.stream(sales, time="ts", unit="s", rows=1, delay="10 minutes").key_by("shop")
        early = first.window(fl.tumbling("1 minute")).trigger(fl.at_watermark(early=fl.after(1)))
        counts = getattr(early, word)().agg(n=fl.count())
        busiest = counts.window(fl.tumbling("1 hour")).agg(shops=fl.count(), all=fl.sum("n"), most=fl.max("n"))
        assert rows(busiest, "shops", "all", "most") == [(0, 3, 6, 3)]
        ordered = counts.sort("shop").table()
        assert "op" not in ordered.column_names
        assert list(zip(ordered["shop"].to_pylist(), ordered["n"].to_pylist(), strict=True)) == [
            ("a", 3),
            ("b", 2),
            ("c", 1),
        ]
        visits = counts.key_by("shop").window(fl.session("5 minutes")).agg(n=fl.sum("n"))
        assert rows(visits, "shop", "n") == [(59, "a", 3), (59, "b", 2), (59, "c", 1)]

    def test_late_corrections_of_changes_go_through_two_stages(self) -> None:
        """The first minute has closed with 5 when the order in it becomes 8: the hour is told, and takes 5 back."""
        corrected = [change("+I", 1, 1, price=5), change("+I", 90, 2, price=1), change("+U", 2, 1, price=8)]
        windows = orders(corrected, delay="0 s").window(fl.tumbling("1 minute"), lateness="10 minutes").retracting()
        minutes = windows.agg(total=fl.sum("price"))
        hours = minutes.window(fl.tumbling("1 hour")).agg(total=fl.sum("total"), minutes=fl.count())
        last = hours.table().to_pylist()[-1]
        assert (last["total"], last["minutes"]) == (9, 2)
        assert not len(hours.dead_letters)

    def test_rewindow_of_a_stage_that_retracts(self) -> None:
        moved = [change("+I", 1, 1, "a", 5), change("+I", 2, 2, "b", 1), change("+U", 3, 1, "c", 6)]
        windows = (
            orders(moved).key_by("shop").window(fl.tumbling("1 minute")).trigger(fl.at_watermark(early=fl.after(1)))
        )
        best = windows.retracting().agg(total=fl.sum("price")).rewindow().agg(best=fl.top("row", 2, by="total"))
        assert [row["best"] for row in best.table().to_pylist()] == [
            [{"shop": "c", "total": 6}, {"shop": "b", "total": 1}]
        ]

    def test_a_condition_on_what_is_left(self) -> None:
        sales = [change("+I", 1, 1, price=5), change("+I", 2, 2, price=1), change("+U", 3, 1, price=2)]
        firing = by_shop(sales).where(fl.col("total") > 2)
        assert rows(firing.window(fl.tumbling("1 hour")).agg(n=fl.count()), "n") == [(0, 1)]


class TestRefused:
    def test_unique_columns_without_operations(self) -> None:
        with pytest.raises(fl.SpecError, match="`unique` and `operations` are about changes"):
            fl.stream([], time="ts", unique="id")
        with pytest.raises(fl.SpecError, match="`unique` and `operations` are about changes"):
            fl.stream([], time="ts", operations={"c": "+I"})

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            ({"operations": {"c": "insert"}}, "the operation 'c' is said to mean 'insert', which is none"),
            ({"unique": ("id", "id")}, "names a column twice"),
            ({"unique": ("id", "op")}, "`unique` names 'op', the column of operations"),
        ],
        ids=["meaning", "twice", "op"],
    )
    def test_what_says_nothing(self, said: dict[str, Any], told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            fl.stream([], time="ts", op="op", **said)

    @pytest.mark.parametrize(
        ("windowed", "told"),
        [
            (lambda one: one.window(fl.tumbling("1 s", domain="processing")), "comes later"),
            (lambda one: one.window(fl.session("1 s"), lateness="1 s"), "each key has its own Session windows"),
            (
                lambda one: one.window(fl.sliding("1 s")).trigger(fl.at_watermark(early=fl.after(1))).retracting(),
                "each key has its own Sliding windows",
            ),
            (lambda one: one.window(fl.tumbling("1 s"), lateness="1 s").discarding(), "Use accumulating or retracting"),
            (lambda one: one.window(fl.tumbling("1 s")).stamped("latest"), r"Say stamped\('end'\)"),
        ],
        ids=["clock", "late-sessions", "early-sliding", "discarding", "stamped"],
    )
    def test_windows_that_cannot_take_a_record_back(self, windowed: Callable[[Any], Any], told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            windowed(orders([]).key_by("shop")).agg(n=fl.count())

    def test_the_operations_as_the_order_of_rows(self) -> None:
        with pytest.raises(fl.SpecError, match="'op' is the column of operations"):
            orders([]).sort("op")

    def test_operations_that_are_no_words(self) -> None:
        with pytest.raises(fl.InputError, match="operations are words"):
            by_shop([{**change("+I", 1, 1), "op": 1}]).table()

    def test_a_unique_column_that_is_missing(self) -> None:
        with pytest.raises(fl.InputError, match="'number'"):
            by_shop([change("+I", 1, 1)], unique="number").table()


CHANGELOGS = 300


def changelog(random: np.random.Generator) -> list[Change]:
    """Some changes of a handful of orders; some delete what is not there, and many move an order."""
    drawn = zip(
        random.choice(["+I", "+U", "-D", "-U"], size=int(random.integers(1, 25)), p=[0.4, 0.25, 0.25, 0.1]).tolist(),
        iter(lambda: (int(random.integers(200)), int(random.integers(6))), None),
        strict=False,
    )
    return [
        change(op, second, number, "abc"[int(random.integers(3))], int(random.integers(1, 9)))
        for op, (second, number) in drawn
    ]


def left(changes: list[Change]) -> list[Change]:
    """The orders that are left, one change after the other."""
    live: dict[int, Change] = {}
    for one in changes:
        live.pop(one["id"], None)
        if one["op"] in ("+I", "+U"):
            live[one["id"]] = one
    return list(live.values())


def equal_left(changes: list[Change]) -> list[Change]:
    """The same where a delete takes a row that is equal to it."""
    live: list[Change] = []
    for one in changes:
        row = {name: value for name, value in one.items() if name != "op"}
        if one["op"] in ("+I", "+U"):
            live.append(row)
        elif row in live:
            live.remove(row)
    return live


def counted(changes: list[Change]) -> list[tuple[int, str, int, int, int]]:
    """The minutes of each shop: how many orders, their sum and the dearest."""
    places = {(one["ts"] // 60 * 60, one["shop"]) for one in changes}
    prices = {
        place: [one["price"] for one in changes if (one["ts"] // 60 * 60, one["shop"]) == place] for place in places
    }
    return [(*place, len(prices[place]), sum(prices[place]), max(prices[place])) for place in sorted(places)]


@pytest.mark.slow
@pytest.mark.parametrize("unique", ["id", ()], ids=["unique", "equal"])
def test_a_changelog_gives_what_its_net_rows_give(unique: Any) -> None:
    random = np.random.default_rng(20261118)
    found = Counter[str]()
    for _ in range(CHANGELOGS):
        changes = changelog(random)
        if unique == ():  # so that some deletes find their rows
            changes += [{**one, "op": "-D"} for one in changes if random.random() < 0.4]
        net = left(changes) if unique else equal_left(changes)
        options = {"unique": unique, "rows": int(random.integers(1, 9))}
        windows = by_shop(changes, **options)
        assert rows(windows, "shop", "n", "total", "dear") == counted(net), changes
        first = windows.stages[0].accounting
        assert first.adds_up
        found.update(windows.stages[0].own_dead_letters.column("reason").to_pylist())
        found["moved"] += len(changes) - len(net)
    assert found["no_such_row"] > CHANGELOGS // 10
    assert set(found) == {"no_such_row", "moved"}, "nothing is late"


@pytest.mark.slow
def test_sort_and_sessions_give_what_the_net_rows_give() -> None:
    random = np.random.default_rng(1118)
    for _ in range(CHANGELOGS // 3):
        changes = changelog(random)
        net = sorted(left(changes), key=lambda one: (one["ts"], one["id"]))
        rows_left = [{name: value for name, value in one.items() if name != "op"} for one in net]
        stream = orders(changes, rows=int(random.integers(1, 9)))
        assert stream.sort("id").table().to_pylist() == rows_left
        sessions = stream.key_by("shop").window(fl.session("30 s")).agg(n=fl.count(), total=fl.sum("price"))
        plain = fl.stream(rows_left, time="ts", unit="s", delay="10 minutes").key_by("shop").window(fl.session("30 s"))
        expected = plain.agg(n=fl.count(), total=fl.sum("price"))
        assert sorted(rows(sessions, "shop", "n", "total")) == sorted(rows(expected, "shop", "n", "total"))


@pytest.mark.slow
def test_retracting_stages_over_a_changelog_give_what_the_net_rows_give() -> None:
    """Minutes that fire at every change, in hours that count them: only what is left in the end is there."""
    random = np.random.default_rng(26)
    for _ in range(CHANGELOGS // 3):
        changes = changelog(random)
        windows = orders(changes, rows=int(random.integers(1, 9))).key_by("shop").window(fl.tumbling("1 minute"))
        early = windows.trigger(fl.at_watermark(early=fl.after(1))).retracting()
        minutes = early.agg(n=fl.count(), total=fl.sum("price"), dear=fl.max("price"))
        hours = minutes.window(fl.tumbling("1 hour")).agg(panes=fl.count(), total=fl.sum("total"), dear=fl.max("dear"))
        net = counted(left(changes))
        expected = [(0, len(net), sum(one[3] for one in net), max(one[4] for one in net))] if net else []
        assert rows(hours, "panes", "total", "dear") == expected, changes


class TestWhere:
    """Conditions see whole rows, whatever a change says of its row."""

    CHANGES = (
        change("+I", 1, 1, price=5),
        change("+I", 2, 2, price=7),
        change("+I", 3, 3, price=9),
        change("+U", 1, 1, price=0),  # no longer meets the condition
        change("-D", 2, 2, shop="", price=None),  # says its id alone
    )

    def test_windows_lose_a_row_that_no_longer_meets_the_condition(self) -> None:
        kept = orders(list(self.CHANGES)).where(fl.col("price") > 0)
        result = kept.window(fl.tumbling("1 minute")).agg(n=fl.count(), total=fl.sum("price"))
        assert rows(result, "n", "total") == [(0, 1, 9)]
        assert result.accounting.adds_up
        assert result.accounting.filtered == 1, "the new values of the first order"

    def test_so_do_sort_and_sessions(self) -> None:
        kept = orders(list(self.CHANGES)).where(fl.col("price") > 0)
        assert [row["id"] for row in kept.sort().table().to_pylist()] == [3]
        assert rows(kept.window(fl.session("10 s")).agg(n=fl.count()), "n") == [(3, 1)]

    def test_columns_may_be_renamed_before_and_after(self) -> None:
        stream = orders(list(self.CHANGES)).select("op", "id", "shop", at="ts", cost="price")
        kept = stream.where(fl.col("cost") > 0).select("op", "id", when="at", paid="cost")
        assert kept.sort().table().to_pylist() == [{"id": 3, "when": 3, "paid": 9}]

    def test_results_that_replace_each_other_are_taken_back_too(self) -> None:
        """The first minute has one order of the shop at first, and two later: then it is no quiet minute any more."""
        sold = [change(None, 1, 1), change(None, 61, 2), change(None, 2, 3)]
        stream = fl.stream(sold, time="ts", unit="s", rows=1, delay="0 s")
        counted = stream.window(fl.tumbling("1 minute"), lateness="1 hour").agg(n=fl.count())
        quiet = counted.where(fl.col("n") < 2).window(fl.tumbling("1 hour")).agg(quiet=fl.count())
        assert [row["quiet"] for row in quiet.table().to_pylist()] == [1]

    def test_in_a_union_it_comes_after_the_union(self) -> None:
        one, other = orders([]), orders([])
        with pytest.raises(fl.SpecError, match=r"'web' has a where\(…\) over changes .* Say where\(…\) after union"):
            fl.union(web=one.where(fl.col("price") > 0), shop=other)
        together = fl.union(web=orders(list(self.CHANGES)), shop=other).where(fl.col("price") > 0)
        assert [row["id"] for row in together.sort().table().to_pylist()] == [3]
