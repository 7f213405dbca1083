"""What databases call the types of columns, for tables that have to be created."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from fanlight.sinks.database.tables import is_text
from fanlight.spark.jdbc.bind_rows import BLOB, VARBINARY

_KEY = 255
"""The length of key columns where it must be said."""
_MANY = 12
"""Keys of more columns than this are many."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one database; the defaults are standard SQL."""

    text: str = "VARCHAR(4000)"
    key_text: str = "VARCHAR(255)"
    """Text that an index can hold, and that is compared byte for byte, blanks at its end included."""
    key_length: str = ""
    """What only compares alike if it is as long, in databases that pass over blanks at the end of any text."""
    many_key_text: str = ""
    """The same for keys of so many columns that a row of `key_text` would be too long."""
    retyped: str = ""
    """The statement that makes a column of `table` compare byte for byte."""
    binary: str = "VARBINARY(4000)"
    key_binary: str = ""
    """Bytes that an index can hold; as `binary` if nothing is said."""
    binary_code: int = VARBINARY
    """What a null in a binary column is called to the driver."""
    boolean: str = "BOOLEAN"
    double: str = "DOUBLE PRECISION"
    has_nan: bool = True
    """Whether a float may be NaN or infinite."""
    moment: str = "TIMESTAMP(6)"
    precision: int = 38
    """The most digits a decimal may have."""
    nowhere: str = ""
    """What a question that concerns no table has to ask."""
    opening: str = ""
    """What is said to the database when it is connected to."""
    properties: tuple[tuple[str, str], ...] = ()
    """What the driver is told unless the user tells it otherwise."""
    names_in_bytes: bool = False
    """Whether the length of names is limited in bytes, rather than in characters."""
    index_prefix: int = 0
    """How many bytes of an index a database has for all text of a key together, if it indexes beginnings of text."""

    def declared(self, kind: pa.DataType, *, is_key: bool, keys: int = 1) -> str:
        """The type of a column, of a key of so many columns if it is part of one."""
        if pa.types.is_boolean(kind):
            return self.boolean
        if pa.types.is_int8(kind) or pa.types.is_int16(kind):
            return "SMALLINT"
        if pa.types.is_int32(kind):
            return "INTEGER"
        if pa.types.is_integer(kind) or pa.types.is_duration(kind):
            return "BIGINT"
        if pa.types.is_floating(kind):
            return self.double
        if pa.types.is_decimal(kind):
            return f"DECIMAL({min(kind.precision, self.precision)}, {kind.scale})"
        if pa.types.is_date(kind):
            return "DATE"
        if pa.types.is_timestamp(kind):
            return self.moment
        if pa.types.is_binary(kind):
            return (is_key and self.key_binary) or self.binary
        if keys > _MANY and self.many_key_text:
            return self.many_key_text if is_key else self.text
        return self.key_text if is_key else self.text

    def indexed(self, kinds: list[pa.DataType]) -> list[str]:
        """How much of each column of a key is put into an index: all of it, or its beginning."""
        share = self.index_prefix // max(sum(is_text(kind) or pa.types.is_binary(kind) for kind in kinds), 1)
        limits = [share // 4 if is_text(kind) else share if pa.types.is_binary(kind) else 0 for kind in kinds]
        many = len(kinds) > _MANY
        return [f"({limit})" if limit and (limit < _KEY or many) else "" for limit in limits]


_UTF8MB4 = "CHARACTER SET utf8mb4"
_MYSQL = Dialect(
    text=f"LONGTEXT {_UTF8MB4}",
    key_text=f"VARCHAR(255) {_UTF8MB4} COLLATE utf8mb4_0900_bin",
    many_key_text=f"LONGTEXT {_UTF8MB4} COLLATE utf8mb4_0900_bin",
    retyped="ALTER TABLE {table} MODIFY {column} {type}",
    binary="LONGBLOB",
    key_binary="VARBINARY(255)",
    double="DOUBLE",
    has_nan=False,
    moment="DATETIME(6)",
    precision=65,
    # without it, what does not fit a column is cut off in silence
    opening="SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
    index_prefix=2_000,
)

_DIALECTS = {
    "apache derby": Dialect(
        text="CLOB",
        key_text="VARCHAR(32672)",
        key_length="LENGTH({column}) = LENGTH(CAST(? AS VARCHAR(32672)))",
        binary="BLOB",
        binary_code=BLOB,
        has_nan=False,
        moment="TIMESTAMP",
        precision=31,
        nowhere=" FROM SYSIBM.SYSDUMMY1",
    ),
    "postgresql": Dialect(
        text="TEXT",
        key_text="TEXT",
        retyped='ALTER TABLE {table} ALTER COLUMN {column} TYPE TEXT COLLATE "C"',
        binary="BYTEA",
        properties=(("stringtype", "unspecified"),),  # text goes to a column of JSON, which a VARCHAR does not
        names_in_bytes=True,
    ),
    "h2": Dialect(text="VARCHAR", key_text="VARCHAR", binary="VARBINARY"),
    "mysql": _MYSQL,
    "mariadb": replace(
        _MYSQL,
        key_text=f"VARCHAR(255) {_UTF8MB4} COLLATE utf8mb4_nopad_bin",
        many_key_text=f"LONGTEXT {_UTF8MB4} COLLATE utf8mb4_nopad_bin",
    ),
    "microsoft sql server": Dialect(
        text="NVARCHAR(MAX)",
        key_text="NVARCHAR(255) COLLATE Latin1_General_100_BIN2",
        key_length="DATALENGTH({column}) = DATALENGTH(CAST(? AS NVARCHAR(MAX)))",
        retyped="ALTER TABLE {table} ALTER COLUMN {column} {type}",
        binary="VARBINARY(MAX)",
        key_binary="VARBINARY(255)",
        boolean="BIT",
        double="FLOAT(53)",
        has_nan=False,
        moment="DATETIME2(6)",
    ),
    "oracle": Dialect(nowhere=" FROM DUAL", names_in_bytes=True),
}


def dialect_of(product: str) -> Dialect:
    """The words of the database that calls itself `product`; standard SQL for those that are not known."""
    return _DIALECTS.get(product.lower(), Dialect())
