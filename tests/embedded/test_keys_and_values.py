"""Keys and values of every kind, NaN and null among them."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl

from .readings import NAN, run, same, values


class TestKeys:
    @pytest.mark.parametrize("keys", [("k",), ("k", "v")])
    def test_null_is_a_group_of_its_own(self, keys: tuple[str, ...]) -> None:
        table = pa.table({"ts": [1, 2, 3, 4], "k": ["a", None, None, ""], "v": [1, 1, 1, 1]})
        assert list(zip(values(run(table, keys), "k"), values(run(table, keys)), strict=True)) == [
            ("", 1),
            ("a", 1),
            (None, 2),
        ]

    @pytest.mark.parametrize("lateness", ["0 s", "1 s"])
    def test_nan_is_one_group_and_so_are_both_zeros(self, lateness: str) -> None:
        """In SQL's order of floats NaN comes after every number, and null after that."""
        floats = pa.array([NAN, 0.0, -0.0, None, NAN, math.inf], pa.float64(), from_pandas=False)
        stream = fl.stream(pa.table({"ts": [1, 2, 3, 4, 5, 6], "k": floats}), time="ts", unit="s", rows=2, delay="0 s")
        result = stream.key_by("k").window(fl.tumbling("10 s"), lateness=lateness).agg(n=fl.count())
        assert same(values(result, "k"), [0.0, math.inf, NAN, None])
        assert values(result) == [2, 1, 2, 1]

    def test_nan_is_one_group_whatever_its_bits(self) -> None:
        """What 0 / 0 makes has another sign than what the text `nan` makes; nobody can see the difference."""
        result = run(pa.table({"ts": [1, 2], "k": np.array([NAN, -NAN])}), ("k",))
        assert values(result) == [2]

    KINDS: ClassVar[dict[str, tuple[pa.DataType, list[Any]]]] = {
        "bool": (pa.bool_(), [False, True]),
        "int8": (pa.int8(), [-128, 127]),
        "uint64": (pa.uint64(), [1, 2**64 - 1]),
        "half": (pa.float16(), [np.float16(0.5), np.float16(1.5)]),
        "decimal": (pa.decimal128(20, 2), [Decimal("-1.50"), Decimal("2.25")]),
        "wide decimal": (pa.decimal256(50, 2), [Decimal("-1.50"), Decimal("2.25")]),
        "date": (pa.date32(), [date(1, 1, 1), date(2026, 1, 31)]),
        "timestamp": (pa.timestamp("us", "UTC"), [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC)]),
        "duration": (pa.duration("us"), [timedelta(-1), timedelta(1)]),
        "binary": (pa.binary(), [b"", b"\xff\x00"]),
        "fixed binary": (pa.binary(2), [b"\x00a", b"\xff\x00"]),
        "text": (pa.string(), ["", "Ω"]),
        "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b"]),
        "view": (pa.string_view(), ["a", "b"]),
    }

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("lateness", ["0 s", "5 s"])
    def test_of_many_types_are_kept_apart_ordered_and_stored(self, kind: str, lateness: str) -> None:
        """a, b, null, then after a restart b again: 1, 2 and 1 in ascending order, null last."""
        arrow, (a, b) = self.KINDS[kind]
        table = pa.table({"ts": [1, 2, 3, 4], "k": pa.array([b, a, None, b], arrow)})
        stream = fl.stream([], time="ts", unit="s").key_by("k")
        spec = stream.window(fl.hopping("10 s", every="5 s"), lateness=lateness).agg(n=fl.count(), t=fl.list("ts")).spec
        operator = fl.WindowOperator(spec)
        operator.add(table.slice(0, 3))
        operator = fl.WindowOperator.restore(spec, operator.snapshot())
        operator.add(table.slice(3))
        operator.end()
        rows = [row for row in operator.take().to_pylist() if row["window"]["start"].second == 0]
        assert [(row["k"], row["n"], row["t"]) for row in rows] == [(a, 1, [2]), (b, 2, [1, 4]), (None, 1, [3])]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([{"a": 1}]),
            pa.array([[1]]),
            pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            pa.array([pa.MonthDayNano([1, 2, 3])]),
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16))),
        ],
        ids=["struct", "list", "map", "interval", "uuid"],
    )
    def test_without_an_order_are_refused_with_a_remedy(self, column: pa.Array) -> None:
        with pytest.raises(fl.InputError, match=r"key_by: column 'k' is .*Key by"):
            run(pa.table({"ts": [1], "k": column}), ("k",)).table()


class TestValues:
    def test_nan_is_a_value_and_greater_than_every_number(self) -> None:
        table = pa.table({"ts": [1, 2, 3], "v": pa.array([2.5, NAN, 1.5], from_pandas=False)})
        words = {"n": fl.count("v"), "low": fl.min("v"), "high": fl.max("v"), "sum": fl.sum("v"), "mean": fl.avg("v")}
        row = run(table, agg=words).table().drop_columns("window").to_pylist()[0]
        assert same(row, {"n": 3, "low": 1.5, "high": NAN, "sum": NAN, "mean": NAN})

    def test_nan_has_not_changed_if_it_is_still_nan(self) -> None:
        """The law of updated_only: NaN equals itself, also inside a list."""
        table = pa.table({"ts": [1, 12], "v": pa.array([NAN, 1.0], from_pandas=False)})
        windowed = fl.stream(table, time="ts", unit="s", rows=1, delay="0 s").window(fl.tumbling("10 s"))
        looks = windowed.trigger(fl.at_watermark(early=fl.after(1)), updated_only=True)
        for aggregate in (fl.max("v"), fl.sum("v"), fl.list("v")):
            assert looks.agg(x=aggregate).table().num_rows == 2

    def test_null_is_no_value(self) -> None:
        table = pa.table({"ts": [1, 2, 12], "v": pa.array([None, 4, None], pa.int64())})
        words = {
            "rows": fl.count(),
            "n": fl.count("v"),
            "total": fl.sum("v"),
            "mid": fl.median("v"),
            "all": fl.list("v"),
        }
        rows = run(table, agg=words).table().drop_columns("window").to_pylist()
        assert rows == [
            {"rows": 2, "n": 1, "total": 4, "mid": 4.0, "all": [4]},
            {"rows": 1, "n": 0, "total": None, "mid": None, "all": []},
        ]

    @pytest.mark.parametrize(
        ("column", "aggregate", "message"),
        [
            (["x"], fl.sum("v"), "Sum: `v` is string, which is not a number. Cast it to int64, float64 or decimal128"),
            ([True], fl.avg("v"), "Avg: `v` is bool, which is not a number. Use count or any, or cast it to int64"),
            ([date(2026, 1, 1)], fl.sum("v"), "use min, max, first or last"),
            ([{"a": 1}], fl.max("v"), "Max: `v` is struct<a: int64>, whose values have no order. Take one of"),
            ([1], fl.any("v"), "AnyTrue: `v` is int64, which is neither true nor false. Make it a bool first"),
            (["x"], fl.median("v"), "Quantile: `v` is string, which is not a number"),
        ],
        ids=["sum of text", "mean of bools", "sum of dates", "greatest struct", "any of numbers", "median of text"],
    )  # fmt: skip
    def test_of_the_wrong_type_are_refused_with_a_remedy(self, column: Any, aggregate: Any, message: str) -> None:
        with pytest.raises(fl.InputError) as refused:
            run(pa.table({"ts": [1], "v": pa.array(column)}), agg={"x": aggregate}).table()
        assert message in str(refused.value)

    def test_a_sum_is_exact_or_a_letter(self) -> None:
        table = pa.table({"ts": [1, 2], "v": [2**63 - 1, 1]})
        result = run(table, agg={"total": fl.sum("v")})
        assert result.table().num_rows == 0
        assert json.loads(result.dead_letters["detail"][0].as_py())["values"] == {"total": str(2**63)}
        exact = table.set_column(1, "v", table["v"].cast(pa.decimal128(38, 0)))
        assert values(run(exact, agg={"total": fl.sum("v")}), "total") == [Decimal(2**63)]

    def test_decimals_add_up_exactly(self) -> None:
        table = pa.table(
            {"ts": [1, 2, 3], "v": pa.array([Decimal("0.10"), Decimal("0.20"), None], pa.decimal128(10, 2))}
        )
        result = run(table, agg={"total": fl.sum("v"), "least": fl.min("v"), "n": fl.count("v")})
        assert (values(result, "total"), values(result, "least"), values(result)) == (
            [Decimal("0.30")],
            [Decimal("0.10")],
            [2],
        )

    @pytest.mark.parametrize(
        "kind", ["date", "timestamp", "binary", "fixed binary", "decimal", "text", "view", "dictionary"]
    )
    def test_of_many_types_have_a_least_a_greatest_a_first_and_a_last(self, kind: str) -> None:
        """They come as b, a, null by event time: b is first and greatest, a is last and least."""
        arrow, (a, b) = TestKeys.KINDS[kind]
        table = pa.table({"ts": [2, 3, 1], "v": pa.array([a, None, b], arrow)})
        words = {
            "low": fl.min("v"),
            "high": fl.max("v"),
            "first": fl.first("v"),
            "last": fl.last("v"),
            "all": fl.list("v"),
        }
        row = run(table, agg=words).table().drop_columns("window").to_pylist()[0]
        assert row == {"low": a, "high": b, "first": b, "last": a, "all": [b, a]}

    def test_structs_may_be_listed(self) -> None:
        structs = [{"a": 2, "b": ["x"]}, None, {"a": 1, "b": None}]
        table = pa.table({"ts": [2, 3, 1], "v": structs})
        windowed = fl.stream(table, time="ts", unit="s").window(fl.tumbling("10 s"), lateness="1 s")
        operator = windowed.retracting().agg(all=fl.list("v")).operator()
        operator.add(table)
        operator = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        operator.end()
        assert operator.take().column("all").to_pylist() == [[structs[2], structs[0]]]

    def test_one_record_may_have_ten_megabytes(self) -> None:
        blob = "x" * 10_000_000
        table = pa.table({"ts": [1, 2], "k": [blob, "y"], "v": ["z", blob]})
        spec = fl.stream([], time="ts", unit="s").key_by("k").window(fl.tumbling("10 s")).agg(high=fl.max("v")).spec
        operator = fl.WindowOperator(spec)
        operator.add(table)
        operator = fl.WindowOperator.restore(spec, operator.snapshot())
        operator.end()
        rows = operator.take().to_pylist()
        assert [(len(row["k"]), len(row["high"])) for row in rows] == [(10_000_000, 1), (1, 10_000_000)]
