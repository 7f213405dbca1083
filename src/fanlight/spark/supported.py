"""Refuse what Spark cannot run, when a pipeline is declared over a DataFrame; each error has a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StringType, TimestampType

from fanlight.errors import InputError, SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.operators.ingest.columns import require_column
from fanlight.spark.column_names import quoted, require_apart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def require_fit(spec: StreamSpec, source: DataFrame, schema: pa.Schema, time: str) -> None:
    """Refuse what Spark cannot run, before a query starts; `time` is the column of times in the DataFrame."""
    if spec.waits_for_signal:
        raise SpecError("trigger: on_signal() needs a caller, and a Spark query has none. Use the embedded engine.")
    _require_bytes(spec, source)
    _require_time(spec, source, schema, time)


def require_names(result: pa.Schema, session: SparkSession) -> None:
    """Refuse result columns whose names are the same to Spark."""
    minds_case = session.conf.get("spark.sql.caseSensitive", "false") == "true"
    require_apart(result.names, minds_case=minds_case)


def _require_bytes(spec: StreamSpec, source: DataFrame) -> None:
    """Refuse text that Spark does not compare byte for byte: shards would tell apart what Spark takes for one."""
    for name in spec.columns:
        kind = source.schema[name].dataType if name in source.columns else None
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            column = f"col({quoted(name)!r})"
            raise InputError(
                f"stream: the column {name!r} has the collation {kind.collation}, and here text is compared byte for "
                f"byte. Say which is meant: df.withColumn({name!r}, lower({column}.cast('string'))) to take cases for "
                f"one, or df.withColumn({name!r}, {column}.cast('string')) to keep them apart."
            )


def _require_time(spec: StreamSpec, source: DataFrame, schema: pa.Schema, time: str) -> None:
    match spec.domain:
        case TimeDomain.PROCESSING if not source.isStreaming:
            raise SpecError(
                "window: a batch DataFrame has no clock to cut processing-time windows by. Window by event time."
            )
        case TimeDomain.EVENT:
            if time in schema.names or time == spec.time:  # a function may make it
                _require_timestamp(time, source, schema)


def _require_timestamp(time: str, source: DataFrame, schema: pa.Schema) -> None:
    require_column(schema, time)
    kind = source.schema[time].dataType
    if not isinstance(kind, TimestampType):
        raise InputError(
            f"stream: the time column {time!r} is {kind.simpleString()}, and Spark's watermark needs a timestamp. "
            f"Cast it, as in df.withColumn({time!r}, col({quoted(time)!r}).cast('timestamp'))."
        )
