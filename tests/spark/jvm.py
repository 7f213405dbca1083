"""The JVM behind a classic session, for what a test can only ask there. PySpark has no public names for these doors."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession


def jvm_of(spark: SparkSession) -> Any:
    """The classes of the JVM, by their names."""
    return spark._jvm  # noqa: SLF001 -- see above


def java_session(spark: SparkSession) -> Any:
    """The session as Java has it."""
    return spark._jsparkSession  # noqa: SLF001 -- see above


def java_frame(frame: DataFrame) -> Any:
    """The frame as Java has it."""
    return frame._jdf  # noqa: SLF001 -- see above
