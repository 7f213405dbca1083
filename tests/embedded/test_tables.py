"""Joins with tables through the words of a pipeline: versions, deletes, tables without a time, results as tables."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import SpecError

S = 1_000_000
ORDERS = [
    {"ts": 5, "currency": "EUR", "v": 1},
    {"ts": 9, "currency": "SEK", "v": 2},
    {"ts": 20, "currency": "EUR", "v": 3},
]
RATES = [
    {"at": 0, "currency": "EUR", "rate": 1.08, "op": "+I"},
    {"at": 8, "currency": "EUR", "rate": 1.1, "op": "+U"},
    {"at": 9, "currency": "SEK", "rate": 0.09, "op": "+I"},
    {"at": 15, "currency": "EUR", "rate": None, "op": "-D"},
]
NAMES = [{"currency": "EUR", "name": "ecu"}, {"currency": "EUR", "name": "euro"}]


def orders(source: Any = ORDERS, **options: Any) -> fl.Stream:
    said = {"delay": "40 s", **options}
    return fl.stream(source, time="ts", unit="s", name="o", **said).key_by("currency")


def rates(source: Any = RATES, **options: Any) -> fl.Stream:
    return fl.table(source, key="currency", time="at", unit="s", **{"delay": "40 s", **options})


def values(result: Any, column: str = "rate") -> dict[int, Any]:
    return {row["v"]: row.get(column) for row in result.table().to_pylist()}


class TestVersions:
    def test_each_order_gets_the_rate_of_its_time(self) -> None:
        """The rate of 15 s is null, and a version like any other: nobody has said what `op` means."""
        assert values(orders().join(rates(), fl.version(), how="left")) == {1: 1.08, 2: 0.09, 3: None}

    def test_a_delete_ends_the_last_version(self) -> None:
        """The column of operations is no part of a version."""
        result = orders().join(rates(op="op"), fl.version())
        assert values(result) == {1: 1.08, 2: 0.09}
        assert result.table().column_names == ["ts", "currency", "v", "at", "rate"]
        assert values(orders().join(rates(op="op"), fl.version(), how="anti"), "ts") == {3: 20}

    def test_other_words_for_operations(self) -> None:
        said = {"+I": "c", "+U": "u", "-D": "d"}
        changes = [{**row, "op": said[row["op"]]} for row in RATES]
        table = rates(changes, op="op", operations={word: op for op, word in said.items()})
        assert values(orders().join(table, fl.version(), how="left")) == {1: 1.08, 2: 0.09, 3: None}

    def test_a_key_may_come_back(self) -> None:
        again = [*RATES, {"at": 18, "currency": "EUR", "rate": 1.2, "op": "+I"}]
        assert values(orders().join(rates(again, op="op"), fl.version()))[3] == 1.2

    def test_a_retention_lets_old_versions_go(self) -> None:
        result = orders().join(rates(), fl.version(), how="left", retention=fl.retention("4 s"))
        assert values(result) == {1: None, 2: 0.09, 3: None}

    def test_an_order_waits_for_the_table_and_no_longer_than_it_is_idle(self) -> None:
        table = fl.table([], key="currency", time="at", unit="s", watermark=fl.Explicit(), op="op")
        left = orders([], watermark=fl.Explicit(), delay=None)
        operator = left.join(table, fl.version(), how="left", idle="30 s").operator()
        operator.add([{"at": 0, "currency": "EUR", "rate": 1.08, "op": "+I"}], source="table", clock=0)
        operator.add(ORDERS[:1], source="o", clock=0)
        operator.advance(watermark=6 * S, source="o", clock=29 * S)
        assert len(operator.take()) == 0
        operator.advance(watermark=7 * S, source="o", clock=30 * S)
        assert operator.take().column("rate").to_pylist() == [1.08]

    def test_ready_holds_orders_until_the_table_has_caught_up(self) -> None:
        """The table is silent for longer than `idle`, and its rows come in any order: none is late before 10 s."""
        table = fl.table([], key="currency", time="at", unit="s", watermark=fl.Explicit(), name="table")
        left = orders([], watermark=fl.Explicit(), delay=None)
        operator = left.join(table, fl.version(), how="left", idle="30 s", ready=10 * S).operator()
        operator.add(ORDERS[:1], source="o", clock=0)
        operator.advance(watermark=9 * S, source="table", clock=0)
        operator.advance(watermark=7 * S, source="o", clock=60 * S)
        operator.add([{"at": 0, "currency": "EUR", "rate": 1.08}], source="table", clock=60 * S)
        assert operator.take_dead_letters().num_rows == len(operator.take()) == 0
        operator.advance(watermark=10 * S, source="table", clock=60 * S)
        assert operator.take().column("rate").to_pylist() == [1.08]

    def test_ready_in_a_pipeline(self) -> None:
        """The first rates come after later ones; with `ready` they are taken all the same."""
        changes = [RATES[1], RATES[0], *RATES[2:]]
        stream = fl.stream(changes, time="at", unit="s", delay="0 s", rows=1, name="table")
        shuffled = stream.key_by("currency")
        assert values(orders().join(shuffled, fl.version(), how="left"))[1] is None
        result = orders().join(shuffled, fl.version(), how="left", ready="1970-01-01T00:00:10Z")
        assert values(result)[1] == 1.08
        assert result.accounting.dead_letters == 0
        assert "table (0 s behind the greatest time seen, once it has reached 1970-01-01T00:00:10Z)" in result.explain()

    def test_the_corrected_results_of_windows_are_versions(self) -> None:
        """The highest bid of the first ten seconds is 3, and 9 when a late bid has come; it is of 10 s, nearly."""
        bids = [{"ts": 1, "currency": "EUR", "bid": 3}, {"ts": 30, "currency": "SEK", "bid": 1}]
        bids += [{"ts": 2, "currency": "EUR", "bid": 9}]
        stream = fl.stream(bids, time="ts", unit="s", delay="0 s", rows=1, name="b").key_by("currency")
        highest = stream.window(fl.tumbling("10 s"), lateness="1 h").retracting().agg(high=fl.max("bid"))
        result = orders().join(highest.key_by("currency"), fl.version(), how="left")
        assert values(result, "high") == {1: None, 2: None, 3: 9}


class TestRefreshed:
    """The second edition, ten seconds after the first, has no SEK."""

    editions = (
        {"at": 0, "currency": "EUR", "rate": 1},
        {"at": 0, "currency": "SEK", "rate": 2},
        {"at": 10, "currency": "EUR", "rate": 3},
    )

    @pytest.mark.parametrize(
        ("at", "expected"), [(0, [1, 2]), (9, [1, 2]), (10, [3, None]), (19, [3, None]), (20, [None, None])]
    )
    def test_a_row_is_valid_until_the_next_edition(self, at: int, expected: list[Any]) -> None:
        asked = [{"ts": at, "currency": currency, "v": 0} for currency in ("EUR", "SEK")]
        result = orders(asked).join(rates(self.editions), fl.version(refresh="10 s"), how="left")
        assert result.table()["rate"].to_pylist() == expected

    def test_what_is_kept_is_the_last_edition(self) -> None:
        told = orders().join(rates(), fl.version(refresh="10 s")).explain()
        assert told.endswith("the last of each key before, for 10 s")

    def test_a_condition_can_be_said(self) -> None:
        """Of the editions that hold, the row that meets it is taken."""
        result = orders().join(rates(), fl.version(refresh="20 s"), how="left", where=fl.col("rate") < 1.1)
        assert values(result) == {1: 1.08, 2: 0.09, 3: None}

    def test_a_result_is_written_anew(self) -> None:
        """The highest rate of each ten seconds holds for the next ten; SEK has none after the first."""
        highest = rates().window(fl.tumbling("10 s")).agg(high=fl.max("rate")).key_by("currency")
        asked = [{"ts": at, "currency": "SEK", "v": at} for at in (5, 19, 25)]
        assert values(orders(asked).join(highest, fl.version(refresh="10 s"), how="left"), "high") == {
            5: None,
            19: 0.09,
            25: None,
        }


class TestTablesWithoutATime:
    @pytest.mark.parametrize("made", [list, pa.Table.from_pylist, pd.DataFrame], ids=["list", "arrow", "pandas"])
    def test_each_order_gets_the_row_of_its_key(self, made: Any) -> None:
        """Of the two rows for EUR the last counts; the time that the table does not have is not shown."""
        result = orders().join(fl.table(made(NAMES), key="currency"), how="left")
        assert values(result, "name") == {1: "euro", 2: None, 3: "euro"}
        assert result.table().column_names == ["ts", "currency", "v", "name"]

    def test_orders_without_a_row(self) -> None:
        assert values(orders().join(fl.table(NAMES, key="currency"), how="anti"), "currency") == {2: "SEK"}

    def test_windows_follow(self) -> None:
        named = orders().join(fl.table(NAMES, key="currency"))
        counted = named.window(fl.tumbling("1 min")).agg(n=fl.count())
        assert counted.table().column("n").to_pylist() == [2]
        assert counted.accounting.dead_letters == 0


class TestResults:
    """Tables, and what is joined with them, may be results of a pipeline."""

    def per_currency(self) -> fl.Stream:
        """How many orders of each currency there are in ten seconds."""
        counted = orders(delay="0 s").window(fl.tumbling("10 s")).agg(n=fl.count())
        return counted.key_by("currency")

    def test_a_result_asks_for_versions(self) -> None:
        """The firing of [0 s, 10 s) is of 10 s, nearly; that of [20 s, 30 s) comes after the delete of EUR."""
        result = self.per_currency().join(rates(op="op"), fl.version(), how="left")
        told = [(row["currency"], row["n"], row["rate"]) for row in result.table().to_pylist()]
        assert told == [("EUR", 1, 1.1), ("SEK", 1, 0.09), ("EUR", 1, None)]

    def test_a_result_asks_for_the_nearest_row(self) -> None:
        result = self.per_currency().join(rates(), fl.as_of("12 s"), how="left")
        told = [(row["currency"], row["at"]) for row in result.table().to_pylist()]
        assert told == [("EUR", 8), ("SEK", 9), ("EUR", None)]

    def test_a_result_is_the_nearest_row(self) -> None:
        result = orders().join(self.per_currency(), fl.as_of("12 s", "forward"), how="left")
        assert values(result, "n") == {1: 1, 2: 1, 3: 1}

    def test_a_result_is_ready_when_its_stage_has_got_so_far(self) -> None:
        """The table is what is counted; the order of 5 s waits until 20 s, and nothing changes for it."""
        result = orders().join(self.per_currency(), fl.version(), how="left", ready=20 * S)
        assert values(result, "n") == {1: None, 2: None, 3: 1}
        assert values(orders().join(self.per_currency(), fl.version(), how="left", ready=10**15), "n")[3] == 1

    def test_a_result_asks_a_table_without_a_time(self) -> None:
        result = self.per_currency().join(fl.table(NAMES, key="currency"), how="left")
        assert [row["name"] for row in result.table().to_pylist()] == ["euro", None, "euro"]

    def test_a_join_with_a_table_asks_another_table(self) -> None:
        rated = orders().join(rates(op="op"), fl.version(), how="left").key_by("currency")
        named = rated.join(fl.table(NAMES, key="currency", name="names"), how="left")
        told = [(row["v"], row["rate"], row["name"]) for row in named.table().to_pylist()]
        assert told == [(1, 1.08, "euro"), (2, 0.09, None), (3, None, "euro")]

    def test_rows_with_versions_are_versions_themselves(self) -> None:
        """The rates with their names are the table."""
        named = rates(op=None).key_by("currency").join(fl.table(NAMES, key="currency", name="names"), how="left")
        result = orders().join(named.key_by("currency"), fl.version(), how="left")
        assert values(result, "name") == {1: "euro", 2: None, 3: "euro"}


def test_explain_says_that_a_table_grows_with_its_keys() -> None:
    told = orders().join(rates(op="op"), fl.version()).explain()
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in told.splitlines())
    assert lines["matches"] == "the right row of its key that is the newest at or before the left row's time"
    assert lines["keeps"].endswith("for ever: it grows with the keys")


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: orders().join(rates()), "only a table without a time needs no match"),
        (lambda: orders().join(rates(), fl.version(), how="right"), "there is no right one"),
        (lambda: orders().join(rates(), fl.version(), where=fl.col("rate") > 1), "kept for ever"),
        (lambda: orders().join(fl.table(NAMES, key="currency"), ready=5), "this table has none"),
        (lambda: orders().join(rates(), fl.interval("0 s", "5 s"), ready=5), "holds rows until a table has caught up"),
        (lambda: fl.version(refresh="0 s"), "it is above zero and ends"),
        (lambda: fl.version(refresh="forever"), "it is above zero and ends"),
        (lambda: orders().join(fl.table(NAMES, key="currency"), fl.version(refresh="1 s")), "this table has none"),
        (
            lambda: orders().join(rates(), fl.version(refresh="1 s"), retention=fl.retention("1 s")),
            "Leave one of the two out",
        ),
        (lambda: orders().join(rates(), fl.version(), ready="soon"), "is not ISO 8601"),
        (lambda: fl.table(NAMES, key="currency", delay="1 s"), "this table has no `time`"),
        (lambda: fl.table(NAMES, key="currency", op="op"), "this table has no `time`"),
        (lambda: orders(op="x").join(rates(), fl.version()), "Sort it first"),
        (lambda: orders().join(rates(op="at"), fl.version()), "is the column of operations"),
    ],
)
def test_what_is_refused_when_it_is_declared(declare: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        declare()
