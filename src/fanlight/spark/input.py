"""One input of a stage on Spark: a DataFrame or the stage before, whose records become chunks by shard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions
from pyspark.sql.pandas.types import from_arrow_schema

from fanlight.errors import SpecError
from fanlight.model.preparation import Extract, Intake, Select
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import EARLIEST
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, WatermarkStrategy
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.prepare import Gate
from fanlight.spark.arrow_columns import arrow_columns
from fanlight.spark.far_ahead import Marks, with_marks
from fanlight.spark.pack import PACKED, Batches, StageBefore
from fanlight.spark.session import require_settings
from fanlight.spark.shipping import through
from fanlight.spark.stage_link import linked_schema, linking
from fanlight.spark.supported import require_fit
from fanlight.spark.worker_python import require_worker_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.spark.run import SparkRun

_FOLLOWED = "_fanlight_followed"

Packs = Callable[[Batches], Batches]
"""A function of Arrow batches that Spark runs on its executors."""


@dataclass(frozen=True)
class SparkInput:
    """What one input brings to a stage: the rows of a DataFrame, or those of the stage before."""

    watermark: WatermarkStrategy
    frame: DataFrame | None = None
    before: SparkRun | None = None
    intake: Intake | None = None
    """What is done to its records first; None if nothing is."""
    name: str = ""

    @property
    def source(self) -> DataFrame:
        """The DataFrame it reads, or the first that the stages before read."""
        if self.frame is not None:
            return self.frame
        assert self.before is not None  # one of the two is there
        return self.before.source

    @property
    def is_streaming(self) -> bool:
        """Whether it is a stream."""
        return self.source.isStreaming

    @property
    def after(self) -> StageBefore | None:
        """The stage whose rows it brings."""
        return None if self.before is None else StageBefore(self.before.stage, self.before.spec)

    def handover(self, spec: StreamSpec) -> Handover | None:
        """How the rows of the stage before become its records; None if it reads a DataFrame."""
        return None if self.before is None else Handover.of(self.before.spec, spec)

    def schema(self, spec: StreamSpec) -> pa.Schema:
        """The columns that the stage of `spec` sees; what Spark cannot run is refused."""
        raw = self._raw(spec)
        if self.intake is None:
            return raw
        return Gate(self.intake, TimeReader.of(spec)).schema_of(raw)

    def keeps(self, keys: tuple[str, ...]) -> bool:
        """Whether these columns come to the stage as they were before."""
        steps = () if self.intake is None else self.intake.preparation.steps
        selects = [dict(step.columns) for step in steps if isinstance(step, Select)]
        return all(columns.get(key) == key for columns in selects for key in keys)

    def numbered(self, first: int) -> SparkInput:
        """The same, with its stages counted from `first`."""
        return self if self.before is None else replace(self, before=self.before.numbered(first))

    def records(self, spec: StreamSpec, signals: str | None) -> DataFrame:
        """The records; in a stream with marks on times that are too far ahead of the clock of their batch.

        The shard knows the clock too; but the packer lets the watermark follow records before that.
        """
        if self.before is not None:
            carried = from_arrow_schema(linked_schema(self._raw(spec)))
            return through(self.before.leaving(signals), self._linked(spec), carried)
        marks = self.marks(spec)
        return self.source if marks is None or spec.ahead is None else with_marks(self.source, marks, spec.ahead)

    def marks(self, spec: StreamSpec) -> Marks | None:
        """Which times are marked because they may be too far ahead of the clock; None if none can be."""
        if self.before is not None or spec.ahead is None or not self.is_streaming:
            return None
        zone = self.source.sparkSession.conf.get("spark.sql.session.timeZone") or ""
        return Marks.of(self._time(spec), spec.ahead, zone)

    def sealed(self, spec: StreamSpec, signals: str | None, sealed: Packs) -> DataFrame:
        """The records as `sealed` packs them, where it needs nothing that Spark says of a record.

        What leaves the stage before becomes records and chunks in one pass: Spark does not see the records between.
        """
        if self.before is None:
            return through(self.records(spec, signals), sealed, PACKED)
        linked = self._linked(spec)

        def linked_and_sealed(batches: Batches) -> Batches:
            return sealed(linked(batches))

        return through(self.before.leaving(signals), linked_and_sealed, PACKED)

    def followed(self, packed: DataFrame, *, by_event: bool) -> DataFrame:
        """The chunks, with Spark's own watermark set where a stream comes in.

        The shards use the watermark in the chunks, which is one batch ahead of Spark's. Spark only shows its own, the
        least of all inputs, and the greatest event time, in a query's progress. The column it follows is dropped, so
        that Spark finds no chunk late.
        """
        if self.before is not None or not self.is_streaming:
            return packed
        delay, reached = 0, functions.current_timestamp()
        if by_event and isinstance(self.watermark, BoundedDisorder):
            delay = self.watermark.delay.micros
            # before the first record the sum is far below all times
            latest = functions.col("watermark") + functions.lit(delay)
            reached = functions.timestamp_micros(functions.greatest(latest, functions.lit(EARLIEST)))
        followed = packed.withColumn(_FOLLOWED, reached)
        return followed.withWatermark(_FOLLOWED, f"{delay} microseconds").drop(_FOLLOWED)

    def _linked(self, spec: StreamSpec) -> Packs:
        """How the output of the stage before becomes records."""
        handover = self.handover(spec)
        assert handover is not None  # there is a stage before
        return linking(handover, self._raw(spec))

    def _raw(self, spec: StreamSpec) -> pa.Schema:
        """The columns before anything is done to records."""
        if self.before is not None:
            if self.is_streaming and not self.before.bound.of_times:
                raise SpecError(
                    "rewindow: on a stream a later stage goes by the watermark of the first, and windows over "
                    "positions close by none. Use a batch DataFrame, or the embedded engine."
                )
            return Handover.of(self.before.spec, spec).schema(self.before.bound.result)
        if isinstance(self.watermark, Explicit) and (self.intake is None or self.intake.control is None):
            raise SpecError(
                "stream: nobody can tell a Spark query its watermark by hand. Let rows of the DataFrame say it, with "
                "watermark=control('column'), or let it follow the records, with delay='5 seconds'."
            )
        raw = arrow_columns(self.source.schema)
        require_fit(spec, self.source, raw, self._time(spec))
        require_worker_python(self.source.sparkSession)
        if self.is_streaming:
            require_settings(self.source.sparkSession)
        return raw

    def _time(self, spec: StreamSpec) -> str:
        """The column of times in the DataFrame."""
        if self.intake is None:
            return spec.time
        if spec.ahead is not None and any(isinstance(step, Extract) for step in self.intake.preparation.steps):
            raise SpecError(
                "stream: a function extracts the times, and on Spark only a column can be compared with the clock "
                "before the watermark moves. Say ahead=None, or give the time as a column of the DataFrame."
            )
        return self.intake.time
