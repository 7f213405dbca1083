"""A look into the checkpoint of a query on Spark."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fanlight.row_result import RowResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fanlight.spark.checkpoint.inspection import Inspection


def inspect(
    checkpoint: str | os.PathLike[str],
    pipeline: RowResult[Any] | None = None,
    *,
    stage: int | None = None,
    spark: SparkSession | None = None,
) -> Inspection:
    """The windows and messages of a query on Spark, or the rows that a join keeps, from its checkpoint.

    The query may be running or stopped.

    What the pipeline was is in the manifest that `write_to` leaves. Where there is none, or Python code is part of the
    pipeline, give the pipeline itself. `stage` is which one of several, counted from 1; the last if it is not given.

    >>> import fanlight as fl
    >>> fl.inspect("no/such/checkpoint")
    Traceback (most recent call last):
    ...
    fanlight.errors.StateError: inspect: there is no checkpoint at 'no/such/checkpoint'. Check the path.
    """
    from fanlight.spark.checkpoint.inspection import inspect as look

    return look(checkpoint, None if pipeline is None else pipeline.on_spark("inspect"), stage=stage, spark=spark)
