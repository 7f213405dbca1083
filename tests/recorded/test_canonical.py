"""Tables that hold the same have the same bytes; whatever a table holds otherwise has others."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from .canonical import table_bytes

ROWS = [
    {"n": 1, "f": 0.5, "t": "tea", "d": Decimal("1.10"), "l": [1, None], "s": {"x": 1, "y": "a"}, "b": True},
    {"n": None, "f": None, "t": None, "d": None, "l": None, "s": None, "b": None},
    {"n": 3, "f": -0.0, "t": "", "d": Decimal("-2.00"), "l": [], "s": {"x": None, "y": ""}, "b": False},
    {"n": 4, "f": float("nan"), "t": "café", "d": Decimal("0.00"), "l": [4], "s": {"x": 4, "y": None}, "b": True},
]
TABLE = pa.Table.from_pylist(ROWS)


def written(*tables: pa.Table) -> bytes:
    return b"|".join(table_bytes(tables))


def numbers(*values: Any) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int64())})


@pytest.mark.parametrize(
    "same",
    [
        pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
        pa.concat_tables([TABLE, TABLE]).slice(4),
        pa.concat_tables([TABLE.slice(2), TABLE]).combine_chunks().slice(2),
        TABLE.take([0, 1, 2, 3]),
    ],
    ids=["in chunks", "the second of two", "behind an offset", "copied"],
)
def test_how_a_table_is_laid_out_does_not_count(same: pa.Table) -> None:
    assert written(same) == written(TABLE)


def test_several_tables_of_the_same_columns_are_one() -> None:
    assert written(TABLE.slice(0, 2), TABLE.slice(2)) == written(TABLE)


def test_what_lies_under_a_null_does_not_count() -> None:
    one, other = (pa.array(np.array([1, left, 3]), mask=np.array([False, True, False])) for left in (0, 9))
    assert written(pa.table({"n": one})) == written(pa.table({"n": other})) == written(numbers(1, None, 3))


@pytest.mark.parametrize(
    "other",
    [
        TABLE.take([1, 0, 2, 3]),
        TABLE.slice(0, 3),
        TABLE.select(["f", "n", "t", "d", "l", "s", "b"]),
        TABLE.rename_columns(["m", "f", "t", "d", "l", "s", "b"]),
        TABLE.set_column(0, "n", TABLE["n"].cast(pa.int32())),
        TABLE.set_column(0, pa.field("n", pa.int64(), metadata={"a": "b"}), TABLE["n"]),
        TABLE.set_column(0, "n", pa.array([1, 0, 3, 4])),
        TABLE.set_column(1, "f", pa.array([0.5, None, 0.0, float("nan")])),
        TABLE.set_column(2, "t", pa.array(["te", None, "a", "café"])),
        TABLE.set_column(4, "l", pa.array([[1], [None], [], [4]], pa.list_(pa.int64()))),
        TABLE.set_column(4, "l", pa.array([[1, None], [], [], [4]], pa.list_(pa.int64()))),
    ],
    ids=[
        *("the order", "one row less", "the order of columns", "a name", "a type", "metadata", "a zero for a null"),
        *("a sign of zero", "where a text ends", "where a list ends", "an empty list for none"),
    ],
)
def test_everything_else_counts(other: pa.Table) -> None:
    assert written(other) != written(TABLE)


def test_whether_a_column_may_have_nulls_counts() -> None:
    strict = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    assert written(numbers(1, 2)) != written(numbers(1, 2).cast(strict))


def test_not_a_number_is_told_by_its_bits() -> None:
    """Two of them are never equal, and print alike."""
    usual, other = (struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8 << 48, 0xFFF8 << 48))
    one, two = (pa.table({"f": np.array([value])}) for value in (usual, other))
    assert written(one) == written(pa.table({"f": np.array([usual])})) != written(two)
