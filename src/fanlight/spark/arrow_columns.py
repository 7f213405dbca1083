"""The columns of a DataFrame as Arrow's, the same with every PySpark that is supported."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import to_arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_ZONE: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
"""Since 4.2 PySpark is told the zone of timestamps; before, it was always UTC."""


def arrow_columns(columns: StructType) -> pa.Schema:
    """The same columns in Arrow; timestamps are in UTC."""
    return to_arrow_schema(columns, **_ZONE)
