"""What each database calls the columns of a table that has to be created."""

from __future__ import annotations

import pyarrow as pa
import pytest

from fanlight.sinks.database.tables import is_text
from fanlight.spark.jdbc.dialect import Dialect, dialect_of

TEXT = pa.string()


@pytest.mark.parametrize(
    ("kind", "standard"),
    [
        (pa.bool_(), "BOOLEAN"),
        (pa.int16(), "SMALLINT"),
        (pa.int32(), "INTEGER"),
        (pa.int64(), "BIGINT"),
        (pa.duration("us"), "BIGINT"),
        (pa.float64(), "DOUBLE PRECISION"),
        (pa.decimal128(10, 2), "DECIMAL(10, 2)"),
        (pa.date32(), "DATE"),
        (pa.timestamp("us", "UTC"), "TIMESTAMP(6)"),
        (pa.binary(), "VARBINARY(4000)"),
        (TEXT, "VARCHAR(4000)"),
        (pa.list_(TEXT), "VARCHAR(4000)"),
    ],
)
def test_a_database_nobody_knows_is_told_standard_sql(kind: pa.DataType, standard: str) -> None:
    assert dialect_of("Nobody's") == Dialect()
    assert dialect_of("Nobody's").declared(kind, is_key=False) == standard


@pytest.mark.parametrize(
    ("product", "key", "other"),
    [
        ("PostgreSQL", "TEXT", "TEXT"),
        ("MariaDB", "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", "LONGTEXT CHARACTER SET utf8mb4"),
        ("MySQL", "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin", "LONGTEXT CHARACTER SET utf8mb4"),
        ("Apache Derby", "VARCHAR(32672)", "CLOB"),
        ("Microsoft SQL Server", "NVARCHAR(255) COLLATE Latin1_General_100_BIN2", "NVARCHAR(MAX)"),
    ],
)
def test_text_that_tells_rows_apart_compares_byte_for_byte(product: str, key: str, other: str) -> None:
    dialect = dialect_of(product)
    assert (dialect.declared(TEXT, is_key=True), dialect.declared(TEXT, is_key=False)) == (key, other)


def test_a_decimal_has_as_many_digits_as_there_is_room_for() -> None:
    assert dialect_of("Apache Derby").declared(pa.decimal128(38, 9), is_key=False) == "DECIMAL(31, 9)"


def test_an_index_has_the_beginnings_of_many_long_columns_where_it_must() -> None:
    """MariaDB has 2,000 bytes for all text of a key, four a letter: ten columns get 50 letters each, one is whole."""
    maria = dialect_of("MariaDB")
    assert maria.indexed([TEXT] * 10) == ["(50)"] * 10
    assert maria.indexed([TEXT, pa.int64()]) == ["", ""]
    assert dialect_of("PostgreSQL").indexed([TEXT] * 10) == [""] * 10
    assert maria.declared(TEXT, is_key=True, keys=13) == "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_kind_of_text_is_text(kind: pa.DataType) -> None:
    assert is_text(kind)
    assert not is_text(pa.binary())
