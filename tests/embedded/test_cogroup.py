"""Cogroup in this process: several streams, one accumulation for each key and window."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import FanlightError

ORDERS = [{"ts": 1, "id": 7, "v": 1}, {"ts": 2, "id": 8, "v": 2}, {"ts": 12, "id": 7, "v": 3}]
PAID = [{"at": 9, "order": 7, "w": 5}, {"at": 14, "order": 9, "w": 6}]
TEN = fl.tumbling("10 s")


def orders(records: Any = ORDERS, **options: Any) -> fl.Stream:
    return fl.stream(records, **{"time": "ts", "unit": "s", "rows": 1, "delay": "0 s", **options}).key_by("id")


def paid(records: Any = PAID, **options: Any) -> fl.Stream:
    return fl.stream(records, **{"time": "at", "unit": "s", "rows": 1, "delay": "0 s", **options}).key_by("order")


def cogrouped(**options: Any) -> Any:
    return fl.cogroup(o=orders(), p=paid(), **options).window(TEN)


def summed(windows: Any) -> fl.Result:
    found: fl.Result = windows.agg(n=fl.count(), v=fl.sum("o.v"), w=fl.sum("p.w"))
    return found


def rows(result: Any) -> list[tuple[Any, ...]]:
    return [(row["id"], row["n"], row["v"], row["w"]) for row in result.table().to_pylist()]


BOTH, ORDER, LATER, PAYMENT = (7, 2, 1, 5), (8, 1, 2, None), (7, 1, 3, None), (9, 1, None, 6)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("full", [BOTH, ORDER, LATER, PAYMENT]),
        ("inner", [BOTH]),
        ("left", [BOTH, ORDER, LATER]),
        ("right", [BOTH, PAYMENT]),
    ],
)
def test_windows_that_any_all_the_first_or_the_last_have_records_for(how: Any, expected: list[Any]) -> None:
    assert rows(summed(cogrouped(how=how))) == expected


def test_keys_are_called_as_in_the_first_input() -> None:
    assert summed(cogrouped()).table().column_names == ["id", "window", "n", "v", "w"]


def test_three_inputs_of_which_one_is_a_result() -> None:
    """The count of payments in five seconds is a record of the window that its own window ends in."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    timed = [{**row, "at": start + timedelta(seconds=row["at"])} for row in PAID]
    counted = paid(timed, unit=None).window(fl.tumbling("5 s")).agg(m=fl.count())
    ordered = orders([{**row, "ts": start + timedelta(seconds=row["ts"])} for row in ORDERS], unit=None)
    merged = fl.cogroup(o=ordered, p=paid(timed, unit=None), c=counted.key_by("order"), how="inner").window(TEN)
    result = merged.agg(v=fl.sum("o.v"), w=fl.sum("p.w"), m=fl.sum("c.m"))
    assert [(row["v"], row["w"], row["m"]) for row in result.table().to_pylist()] == [(1, 5, 1)]


def test_a_function_of_the_merged_rows() -> None:
    """It is handed the rows of all inputs, with nulls where a column is of another input."""

    def shares(table: pa.Table) -> list[int]:
        return [table.num_rows, table["o.v"].null_count, table["p.w"].null_count]

    result = cogrouped(how="inner").agg(seen=fl.batch(shares, pa.list_(pa.int64()), "o.v", "p.w"))
    assert result.table()["seen"].to_pylist() == [[2, 1, 1]]


def told(windows: Any) -> list[tuple[Any, ...]]:
    return [(row["pane"]["op"], row["n"], row["w"]) for row in summed(windows).table().to_pylist()]


class TestEarlyFirings:
    """Two orders come first, then two payments: the window has both from the third record on."""

    early = fl.at_watermark(early=fl.after(1))

    def windows(self, how: Any = "inner") -> Any:
        left = orders([{"ts": second, "id": 7, "v": 1} for second in (1, 2)])
        right = paid([{"at": second, "order": 7, "w": 1} for second in (1, 2)], clock=None)
        slow = fl.cogroup(o=left.where(fl.col("v") > 0), p=right, how=how)
        return slow.window(TEN, lateness="1 min").trigger(self.early)

    def test_the_first_row_that_is_shown_is_an_insert(self) -> None:
        assert [op for op, *_ in told(self.windows())] == ["+I", "+U", "+U"]

    def test_nothing_is_taken_back_that_was_not_shown(self) -> None:
        net: dict[Any, int] = {}
        for op, *values in told(self.windows().retracting()):
            net[tuple(values)] = net.get(tuple(values), 0) + (-1 if op == "-U" else 1)
            assert net[tuple(values)] >= 0
        assert [values for values, count in net.items() if count] == [(4, 2)]

    def test_what_follows_counts_each_window_once(self) -> None:
        assert summed(self.windows()).window(fl.tumbling("1 min")).agg(k=fl.count()).table()["k"].to_pylist()[-1] == 1


def test_a_window_can_be_read_when_its_inputs_are_there() -> None:
    empty = [pa.RecordBatch.from_pylist([], pa.schema({name: pa.int64() for name in ("ts", "id", "v")}))]
    inputs = {name: fl.stream(empty[0], time="ts", unit="s").key_by("id") for name in ("a", "b")}
    operator = fl.cogroup(**inputs, how="inner").window(TEN).agg(n=fl.count("a.v")).operator()
    operator.add([{"ts": 1, "id": 7, "v": 1}], source="a")
    assert operator.windows().num_rows == 0
    operator.add([{"ts": 2, "id": 7, "v": 1}], source="b")
    assert operator.windows().select(["id", "n"]).to_pylist() == [{"id": 7, "n": 1}]


def test_each_input_has_a_watermark_and_the_least_counts() -> None:
    """The order of 3 comes after one of 12, but payments are slower: it is not late."""
    slow = orders([*ORDERS, {"ts": 3, "id": 8, "v": 4}])
    result = summed(fl.cogroup(o=slow, p=paid([{"at": 1, "order": 7, "w": 5}] * 4)).window(TEN))
    assert [row[:3] for row in rows(result)] == [(7, 5, 1), (8, 2, 6), (7, 1, 3)]
    assert result.accounting_by_input["p"].accepted == 4


def test_explain_tells_what_a_window_needs() -> None:
    lines = dict(
        re.split(r"\s{2,}", line, maxsplit=1) for line in summed(cogrouped(how="inner")).explain().splitlines()
    )
    assert lines["needs"] == "records of o and p in a window"
    assert "needs" not in summed(cogrouped()).explain()


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: fl.cogroup(o=orders()), "needs at least two streams"),
        (lambda: fl.cogroup(o=orders(), p=PAID), "list is no stream"),
        (lambda: fl.cogroup(o=orders(), p=fl.stream(PAID, time="at", unit="s")), "1 keys and 'p' has 0"),
        (lambda: fl.cogroup(o=orders(), p=paid(unit="ms")), "`unit` is"),
        (lambda: fl.cogroup(o=orders(), p=paid(), how="cross"), "is not one of full, inner"),
        (lambda: cogrouped().agg(v=fl.sum("v")), "'v' is a column of no input"),
        (lambda: cogrouped().agg(v=fl.sum("q.v")), "the inputs are o, p"),
        (lambda: cogrouped().agg(v=fl.batch(len, pa.int64())), "what a whole record is"),
        (lambda: cogrouped().top(3, by="o.v"), "no columns in common"),
        (lambda: cogrouped().over(), "no columns in common"),
        (lambda: fl.cogroup(o=orders(op="op"), p=paid()), "has changes"),
        (lambda: fl.cogroup(o=fl.union(a=fl.stream([], time="ts"), b=fl.stream([], time="ts")), p=paid()), "several"),
        (lambda: cogrouped().agg(v=fl.sum("o.vv")).table(), "Did you mean 'v'"),
    ],
)
def test_what_is_refused(declare: Any, told: str) -> None:
    with pytest.raises(FanlightError, match=told):
        declare()
