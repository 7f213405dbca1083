"""The columns of a DataFrame in Arrow: the same types whatever PySpark it is."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from fanlight.spark.arrow_columns import arrow_columns


def test_timestamps_are_in_utc_wherever_they_are_and_others_have_no_zone() -> None:
    inner = StructType([StructField("at", TimestampType())])
    kinds = {
        "ts": (TimestampType(), pa.timestamp("us", "UTC")),
        "local": (TimestampNTZType(), pa.timestamp("us")),
        "inner": (inner, pa.struct({"at": pa.timestamp("us", "UTC")})),
        "times": (ArrayType(TimestampType()), pa.list_(pa.field("element", pa.timestamp("us", "UTC")))),
        "counts": (MapType(StringType(), LongType()), pa.map_(pa.string(), pa.int64())),
        "price": (DecimalType(10, 2), pa.decimal128(10, 2)),
    }
    found = arrow_columns(StructType([StructField(name, kind) for name, (kind, _) in kinds.items()]))
    assert found.names == list(kinds)
    assert found.types == [kind for _, kind in kinds.values()]
