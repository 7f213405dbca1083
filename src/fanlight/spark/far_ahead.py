"""Times too far ahead of the clock: Spark, which alone knows the clock of a batch, marks them for the packer.

A column with a word on each row would cost a tenth of every batch, for what hardly ever happens. So the mark is in the
time itself: one that is too far ahead is moved back by 2**62 microseconds, below all times a record may have.

    int64   |    …    |--marked--|    …    |--EARLIEST … LATEST--|    …    |
            START_OF_TIME                  what a record's time may be

A time that lies there, or further back, from the beginning is moved just above the marked ones: it stays out of range.

Spark writes numbers into the code that it makes of a query. With the clock among them every batch would have code of
its own, which Java compiles anew and runs slowly at first: that took an eighth of a batch. The day of the clock stays
the same all day. So, where it can be, `ahead` is counted from the start of that day. Then more times are marked than
are too far ahead: some are in doubt, until a shard, which knows the clock, settles which they are.

    start of day    clock
    |---------------|
    |------- ahead ------->|---------------->   marked
                    |------- ahead ------->|>   too far ahead
                           |-- in doubt ---|
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
_DAY = Duration.of("1 day").micros
_UTC = ("utc", "etc/utc", "gmt", "z", "+00:00")


class Marks(NamedTuple):
    """Which times of an input are marked."""

    column: str
    by_day: bool = False
    """Whether some of them may not be too far ahead: the limit is counted from the start of the clock's day."""

    @staticmethod
    def of(column: str, ahead: Duration, zone: str) -> Marks:
        """The marks on a column in a session of this time zone, whose days are those of its `current_date`.

        With less than a day times of today would be in doubt, which are nearly all there are.
        """
        return Marks(column, by_day=ahead.micros >= _DAY and zone.lower() in _UTC)


def with_marks(frame: DataFrame, marks: Marks, ahead: Duration) -> DataFrame:
    """The rows, with a mark on each time that is more than `ahead` after the clock of its batch, or after its day."""
    if marks.by_day:
        counted_from = functions.unix_date(functions.current_date()).cast("bigint") * functions.lit(_DAY)
    else:
        counted_from = functions.unix_micros(functions.current_timestamp())
    limit = counted_from + functions.lit(min(ahead.micros, LATEST))

    def marked(moment: Column) -> Column:
        micros = functions.unix_micros(moment)
        is_far = (micros > limit) & (micros <= functions.lit(LATEST))
        back = functions.timestamp_micros(functions.try_subtract(micros, functions.lit(_BACK)))
        above = functions.timestamp_micros(functions.lit(_GREATEST + 1))
        return functions.when(is_far, back).when(micros <= functions.lit(_GREATEST), above).otherwise(moment)

    return with_column(frame, marks.column, [marks.column], marked)


def unmarked(batch: pa.RecordBatch, column: str) -> tuple[pa.RecordBatch, Timestamp | None]:
    """The rows with their times as they were, and the least time of those that were marked; None if none was.

    All other times that a record may have are less than that one.
    """
    times = batch.column(column).cast(pa.int64())
    lowest = pc.min(times).as_py()
    if lowest is None or lowest > _GREATEST:
        return batch, None
    return _moved(batch, column, pc.if_else(pc.less_equal(times, _GREATEST), _BACK, 0)), lowest + _BACK


def marked(batch: pa.RecordBatch, column: str, chosen: pa.BooleanArray) -> pa.RecordBatch:
    """The rows, with a mark on the times of those chosen: what `with_marks` does, for tests without Spark."""
    return _moved(batch, column, pc.if_else(chosen, -_BACK, 0))


def _moved(batch: pa.RecordBatch, column: str, by: pa.Int64Array) -> pa.RecordBatch:
    place, times = batch.schema.get_field_index(column), batch.column(column)
    return batch.set_column(place, batch.schema.field(column), pc.add(times.cast(pa.int64()), by).cast(times.type))
