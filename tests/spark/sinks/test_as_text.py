"""What is written as text can be read back to the last digit."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from fanlight.sinks.as_text import as_json, digits, jsonable, lines

MOMENT = pa.timestamp("us", "UTC")
NOON = datetime(2026, 3, 1, 12, 0, 0, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (MOMENT, NOON, "2026-03-01T12:00:00.000007Z"),
        (pa.timestamp("us", "Asia/Tokyo"), NOON, "2026-03-01T12:00:00.000007Z"),
        (pa.timestamp("us"), NOON.replace(tzinfo=None), "2026-03-01T12:00:00.000007"),
        (pa.date32(), date(2026, 3, 1), "2026-03-01"),
        (pa.duration("us"), timedelta(milliseconds=3), 3000),
        (pa.decimal128(38, 9), Decimal("0.000000001"), "0.000000001"),
        (pa.decimal128(38, 0), Decimal(10**37), "1" + "0" * 37),
        (pa.float64(), float("nan"), "NaN"),
        (pa.float64(), float("-inf"), "-Infinity"),
        (pa.binary(), b"\x00\xff", "AP8="),
        (pa.list_(MOMENT), [NOON, None], ["2026-03-01T12:00:00.000007Z", None]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)], {"a": 1}),
        (pa.map_(pa.int64(), pa.int64()), [(1, 2)], [[1, 2]]),
        (pa.struct({"x": pa.list_(pa.decimal128(4, 2))}), {"x": [Decimal("1.50")]}, {"x": ["1.50"]}),
    ],
)
def test_each_type_has_one_spelling_and_null_stays_null(kind: pa.DataType, value: object, written: object) -> None:
    column = pa.chunked_array([pa.array([None, value], kind), pa.array([value], kind).slice(0)])
    assert jsonable(column) == [None, written, written]
    assert [None if text is None else json.loads(text) for text in as_json(column)] == [None, written, written]


def test_a_slice_of_nested_values_is_that_slice() -> None:
    column = pa.array([[{"x": 1}], None, [], [{"x": 2}, None]], pa.list_(pa.struct({"x": pa.int64()})))
    assert jsonable(column.slice(1)) == [None, [], [{"x": 2}, None]]


def test_a_line_is_a_row_and_letters_of_all_alphabets_are_themselves() -> None:
    table = pa.table({"k": ["茶", None], "window": [{"start": NOON}, None]})
    assert list(lines(table)) == [
        '{"k":"茶","window":{"start":"2026-03-01T12:00:00.000007Z"}}',
        '{"k":null,"window":null}',
    ]


def test_decimals_never_have_an_exponent() -> None:
    column = pa.chunked_array([pa.array([Decimal("0E-7"), Decimal("1E-7")], pa.decimal128(38, 7))])
    assert digits(column) == ["0.0000000", "0.0000001"]
