"""Times too far ahead of the clock: Spark, which alone knows the clock of a batch, marks them for the packer.

A column with a word on each row would cost a tenth of every batch, for what hardly ever happens. So the mark is in the
time itself: one that is too far ahead is moved back by 2**62 microseconds, below all times a record may have.

    int64   |    …    |--marked--|    …    |--EARLIEST … LATEST--|    …    |
            START_OF_TIME                  what a record's time may be

A time that lies there, or further back, from the beginning is moved just above the marked ones: it stays out of range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions

from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import LATEST, Timestamp
from fanlight.spark.column_names import with_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BACK = 2**62
_GREATEST: Timestamp = LATEST - _BACK
"""The greatest time that is marked."""


def with_marks(frame: DataFrame, time: str, ahead: Duration) -> DataFrame:
    """The rows, with a mark on each `time` that is more than `ahead` before the clock of its batch."""
    limit = functions.unix_micros(functions.current_timestamp()) + functions.lit(min(ahead.micros, LATEST))

    def marked(moment: Column) -> Column:
        micros = functions.unix_micros(moment)
        is_far = (micros > limit) & (micros <= functions.lit(LATEST))
        back = functions.timestamp_micros(functions.try_subtract(micros, functions.lit(_BACK)))
        above = functions.timestamp_micros(functions.lit(_GREATEST + 1))
        return functions.when(is_far, back).when(micros <= functions.lit(_GREATEST), above).otherwise(moment)

    return with_column(frame, time, [time], marked)


def parted(batch: pa.RecordBatch, time: str) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """The rows without those whose `time` is marked, and these apart, with their times as they were; None for none."""
    times = batch.column(time).cast(pa.int64())
    lowest = pc.min(times).as_py()
    if lowest is None or lowest > _GREATEST:
        return batch, None
    is_far = pc.less_equal(times, _GREATEST).fill_null(False)
    return batch.filter(pc.invert(is_far)), _moved(batch.filter(is_far), time, _BACK)


def marked(batch: pa.RecordBatch, time: str, chosen: pa.BooleanArray) -> pa.RecordBatch:
    """The rows, with a mark on the `time` of those chosen: what `with_marks` does, for tests without Spark."""
    return _moved(batch, time, pc.if_else(chosen, -_BACK, 0))


def _moved(batch: pa.RecordBatch, time: str, by: int | pa.Int64Array) -> pa.RecordBatch:
    place, times = batch.schema.get_field_index(time), batch.column(time)
    return batch.set_column(place, batch.schema.field(time), pc.add(times.cast(pa.int64()), by).cast(times.type))
