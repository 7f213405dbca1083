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

    def test_the_corrected_results_of_windows_are_versions(self) -> None:
        """The highest bid of the first ten seconds is 3, and 9 when a late bid has come; it is of 10 s, nearly."""
        bids = [{"ts": 1, "currency": "EUR", "bid": 3}, {"ts": 30, "currency": "SEK", "bid": 1}]
        bids += [{"ts": 2, "currency": "EUR", "bid": 9}]
        stream = fl.stream(bids, time="ts", unit="s", delay="0 s", rows=1, name="b").key_by("currency")
        highest = stream.window(fl.tumbling("10 s"), lateness="1 h").retracting().agg(high=fl.max("bid"))
        result = orders().join(highest.key_by("currency"), fl.version(), how="left")
        assert values(result, "high") == {1: None, 2: None, 3: 9}


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
        (lambda: fl.table(NAMES, key="currency", delay="1 s"), "this table has no `time`"),
        (lambda: fl.table(NAMES, key="currency", op="op"), "this table has no `time`"),
        (lambda: orders(op="x").join(rates(), fl.version()), "Sort it first"),
        (lambda: orders().join(rates(op="at"), fl.version()), "is the column of operations"),
    ],
)
def test_what_is_refused_when_it_is_declared(declare: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        declare()
