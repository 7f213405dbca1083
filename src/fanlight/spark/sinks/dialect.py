"""What databases call the types of columns, for tables that have to be created."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from fanlight.spark.sinks.binding import BLOB, VARBINARY


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one database; the defaults are standard SQL."""

    text: str = "VARCHAR(4000)"
    key_text: str = "VARCHAR(255)"
    """Text that an index can hold."""
    binary: str = "VARBINARY(4000)"
    binary_code: int = VARBINARY
    """What a null in a binary column is called to the driver."""
    boolean: str = "BOOLEAN"
    double: str = "DOUBLE PRECISION"
    moment: str = "TIMESTAMP(6)"
    precision: int = 38
    """The most digits a decimal may have."""

    def declared(self, kind: pa.DataType, *, is_key: bool) -> str:
        """The type of a column."""
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
            return self.binary
        return self.key_text if is_key else self.text


_DIALECTS = {
    "apache derby": Dialect(
        text="CLOB", key_text="VARCHAR(32672)", binary="BLOB", binary_code=BLOB, moment="TIMESTAMP", precision=31
    ),
    "postgresql": Dialect(text="TEXT", key_text="TEXT", binary="BYTEA"),
    "h2": Dialect(text="VARCHAR", key_text="VARCHAR", binary="VARBINARY"),
    "mysql": Dialect(text="LONGTEXT", binary="LONGBLOB", double="DOUBLE", moment="DATETIME(6)", precision=65),
    "mariadb": Dialect(text="LONGTEXT", binary="LONGBLOB", double="DOUBLE", moment="DATETIME(6)", precision=65),
    "microsoft sql server": Dialect(
        text="NVARCHAR(MAX)",
        key_text="NVARCHAR(255)",
        binary="VARBINARY(MAX)",
        boolean="BIT",
        double="FLOAT(53)",
        moment="DATETIME2(6)",
    ),
}


def dialect_of(product: str) -> Dialect:
    """The words of the database that calls itself `product`; standard SQL for those that are not known."""
    return _DIALECTS.get(product.lower(), Dialect())
