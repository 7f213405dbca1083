"""What Spark cannot carry: refused when a pipeline is declared over a DataFrame, each with what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StringType, TimestampType

from fanlight.errors import InputError, SpecError
from fanlight.model.spec import WindowSpec
from fanlight.model.triggers import OnSignal
from fanlight.model.watermarks import BoundedDisorder
from fanlight.operators.plan import require_column
from fanlight.spark.columns import quoted, require_apart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def require_fit(spec: WindowSpec, source: DataFrame, schema: pa.Schema) -> None:
    """Refuse what Spark cannot carry, before a query starts."""
    _require_strategy(spec)
    _require_bytes(spec, source)
    _require_time(spec, source, schema)


def require_names(spec: WindowSpec, session: SparkSession) -> None:
    """Refuse result columns that Spark takes for one."""
    minds_case = session.conf.get("spark.sql.caseSensitive", "false") == "true"
    require_apart([*spec.keys, "window", *(name for name, _ in spec.aggregates), "pane"], minds_case=minds_case)


def _require_bytes(spec: WindowSpec, source: DataFrame) -> None:
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


def _require_strategy(spec: WindowSpec) -> None:
    if not isinstance(spec.watermark, BoundedDisorder) or spec.watermark.per_record or spec.watermark.every:
        raise SpecError(
            f"stream: Spark moves the watermark itself, and {type(spec.watermark).__name__} cannot be told to it. "
            "Use delay='5 seconds' on a DataFrame, or the embedded engine."
        )
    if any(isinstance(part, OnSignal) for part in spec.trigger.walk()):
        raise SpecError("trigger: on_signal() needs a caller, and a Spark query has none. Use the embedded engine.")


def _require_time(spec: WindowSpec, source: DataFrame, schema: pa.Schema) -> None:
    if spec.in_processing_time:
        if not source.isStreaming:
            raise SpecError(
                "window: a batch DataFrame has no clock to cut processing-time windows by. Window by event time."
            )
        return
    if spec.in_arrival_order:
        return
    require_column(schema, spec.time)
    kind = source.schema[spec.time].dataType
    if not isinstance(kind, TimestampType):
        raise InputError(
            f"stream: the time column {spec.time!r} is {kind.simpleString()}, and Spark's watermark needs a timestamp. "
            f"Cast it, as in df.withColumn({spec.time!r}, col({quoted(spec.time)!r}).cast('timestamp'))."
        )
