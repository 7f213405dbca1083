"""The delivery of one batch to its sinks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from fanlight.spark.sinks.batch import Batch, batch_of
from fanlight.spark.sinks.result_schema import ResultShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Delivery:
    """One batch for its sinks: a frame for sinks whose executors write, a collected batch for the others."""

    def __init__(
        self,
        query: str,
        number: int,
        frame: DataFrame,
        shape: ResultShape,
        *,
        offsets: int | None = None,
        accepts: bool = False,
    ) -> None:
        """`offsets` is a digest of what the batch reads, the same for a repeat; `accepts` says that a place takes the
        batch also if it does not follow what the place holds.
        """
        self.query = query
        self.number = number
        self.frame = frame
        self.shape = shape
        self.offsets = offsets
        self.accepts = accepts

    @property
    def session(self) -> SparkSession:
        """The session the batch belongs to."""
        return self.frame.sparkSession

    @cached_property
    def batch(self) -> Batch:
        """All of it on the driver, collected at the first call only."""
        return batch_of(self.frame.toArrow(), self.shape, self.query, self.number, self.offsets)
