"""Where a pipeline begins: `stream`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.advice import warn_of_no_delay
from fanlight.embedded.feed import Clock
from fanlight.embedded.sources import Source
from fanlight.embedded.time_cut import TimeCut
from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.enum_word import choice
from fanlight.model.given import checked_columns
from fanlight.model.join.sides import TABLE_TIME
from fanlight.model.preparation import Preparation, extract_of
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.timestamp import EARLIEST
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Control, Explicit, WatermarkStrategy
from fanlight.row_result import Reading
from fanlight.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENT_TIME = "event_time"
"""The column that a function of the caller fills with the times of records."""


def stream(
    source: Source | DataFrame,
    *,
    time: str | Callable[[pa.RecordBatch], Any],
    delay: DurationLike | None = None,
    watermark: WatermarkStrategy | Control | None = None,
    unit: TimeUnit | str | None = None,
    tick: DurationLike = "1 us",
    ahead: DurationLike | None = "1 day",
    clock: Clock | None = None,
    rows: int | None = None,
    every: DurationLike | None = None,
    schema: pa.Schema | None = None,
    strict: bool = False,
    op: str | None = None,
    unique: str | Sequence[str] = (),
    operations: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Stream:
    """A stream of records with an event time, to be windowed.

    `source` is an Arrow table, record batches, a pandas DataFrame, an iterable of dicts, or a Spark DataFrame,
    streaming or not; then the pipeline runs on Spark, and `df` of the result is a DataFrame. `time` is the column of
    event times, or a function of a record batch that gives them; they are the column `event_time` then. `delay` is how
    far out of order records may be; `watermark` gives any other strategy, and with `control("column")` rows of the
    stream say it. `unit` says what whole numbers in the time column count: 's', 'ms', 'us' or 'ns'; without it they
    are refused. `clock` names a column of arrival times, or is the caller's clock, for triggers that need one. Where a
    clock is known (Spark's streams have one), a record whose time is further `ahead` of it is a dead letter, and moves
    no watermark; None lets it pass.

    A list, a table or a data frame is one bundle, and none of its records is late. `rows` cuts the source into bundles
    of so many records, in the order they are given; `every` cuts it by the clock column, or else by the column of
    times: a bundle starts with the first record whose time passes the next multiple of `every` beyond the greatest time
    so far.

    `schema` says the columns and types; without it the first bundle does. A value that does not fit its column exactly
    makes its record a dead letter, and a field that is no column is ignored; `strict` stops at either instead.

    `op` names the column of a change stream that says what a record does to earlier ones: `+I`, `-U`, `+U` or `-D`;
    `operations` translates other words, as in {"c": "+I", "u": "+U", "d": "-D"}. `unique` are the columns that tell
    rows apart: a delete takes the row with their values, a second insert replaces it. Without them a delete takes one
    row that is equal in all columns. `name` is what the stream is called where it meets others, in a join.

    >>> import fanlight as fl
    >>> orders = [{"ts": 5, "product": "tea", "price": 3}, {"ts": 42, "product": "tea", "price": 4}]
    >>> totals = (
    ...     fl.stream(orders, time="ts", unit="s")
    ...     .key_by("product")
    ...     .window(fl.tumbling("1 minute"))
    ...     .agg(n=fl.count(), revenue=fl.sum("price"))
    ... )
    >>> totals.table().select(["product", "n", "revenue"]).to_pylist()
    [{'product': 'tea', 'n': 2, 'revenue': 7}]
    """
    if watermark is not None and delay is not None:
        raise SpecError("stream: `delay` and `watermark` both say how the watermark follows. Use one of them.")
    strategy = watermark or BoundedDisorder(Duration.of("0 s" if delay is None else delay))
    reading = Reading(source, clock, rows, schema, strict, _time_cut(time, clock, rows, every))
    if delay is None and watermark is None and reading.comes_in_bundles:
        warn_of_no_delay(stacklevel=2)
    preparation = Preparation()
    if callable(time):
        preparation, time = Preparation((extract_of(time, EVENT_TIME),)), EVENT_TIME
    column = strategy.column if isinstance(strategy, Control) else None
    followed = Explicit() if isinstance(strategy, Control) else strategy
    counted = None if unit is None else choice(TimeUnit, unit, "unit")
    limit = None if ahead is None else Duration.of(ahead)
    changes = _changes(op, unique, operations)
    about = {"preparation": preparation, "control": column, "changes": changes, "name": name}
    return Stream(reading, time, followed, counted, Duration.of(tick), limit, **about)  # type: ignore[arg-type]


def _time_cut(time: object, clock: object, rows: int | None, every: DurationLike | None) -> TimeCut | None:
    """How a source is cut by its times, as a user says it."""
    if every is None:
        return None
    if rows is not None:
        raise SpecError("stream: `rows` and `every` both say where a bundle ends. Use one of them.")
    column = clock if isinstance(clock, str) else time
    if not isinstance(column, str):
        raise SpecError(
            "stream: `every` cuts by a column of times, and here a function makes them. Name a column of arrival "
            "times, as in clock='arrived', or say rows=100."
        )
    return TimeCut(column, Duration.of(every))


def table(
    source: Source | DataFrame,
    *,
    key: str | Sequence[str],
    time: str | None = None,
    delay: DurationLike | None = None,
    watermark: WatermarkStrategy | Control | None = None,
    unit: TimeUnit | str | None = None,
    op: str | None = None,
    operations: Mapping[str, str] | None = None,
    schema: pa.Schema | None = None,
    name: str = "table",
) -> Stream:
    """A table for joins: rows of a key replace each other.

    With a `time` its rows are versions: each is valid from its time on, until the next of its key, or until one that
    `op` says is a delete; `join(table, version())` gives each row the version of its time. Without a `time` it does not
    change while a pipeline runs, and `join(table)` needs no match; of several rows of a key the last counts.

    >>> import fanlight as fl
    >>> names = [{"currency": "EUR", "long": "euro"}, {"currency": "SEK", "long": "krona"}]
    >>> orders = fl.stream([{"ts": 5, "currency": "SEK"}], time="ts", unit="s", delay="0 s").key_by("currency")
    >>> orders.join(fl.table(names, key="currency")).table().to_pylist()
    [{'ts': 5, 'currency': 'SEK', 'long': 'krona'}]
    """
    keys = checked_columns("table", (key,) if isinstance(key, str) else tuple(key))
    if time is not None:
        changed: Any = {"op": op, "operations": operations, "unique": keys if op is not None else ()}
        read = stream(
            source, time=time, delay=delay, watermark=watermark, unit=unit, schema=schema, name=name, **changed
        )
        return replace(read, keys=keys)
    for word, value in (("delay", delay), ("watermark", watermark), ("unit", unit), ("op", op)):
        if value is not None:
            raise SpecError(
                f"table: `{word}` ({value}) is about the times of versions, and this table has no `time`. Name the "
                "column of times, as in table(…, time='ts'), or leave it out."
            )
    still = stream(source, time=TABLE_TIME, watermark=Explicit(), schema=schema, name=name)
    if still.is_on_spark:  # where a watermark follows a column of the data frame
        frame: Any = source
        timed = frame.selectExpr("*", f"timestamp_micros({EARLIEST}L) AS `{TABLE_TIME}`")
        return replace(stream(timed, time=TABLE_TIME, delay="0 s", name=name), keys=keys)
    return replace(still, keys=keys, preparation=Preparation((extract_of(since_ever, TABLE_TIME),)))


def since_ever(batch: pa.RecordBatch) -> pa.Array:
    """The times of rows that were always valid."""
    return pa.repeat(pa.scalar(EARLIEST, pa.timestamp("us", "UTC")), len(batch))


def _changes(op: str | None, unique: str | Sequence[str], operations: Mapping[str, str] | None) -> Changes | None:
    """How records change earlier ones, as a user says it."""
    if op is None:
        if unique or operations:
            raise SpecError(
                "stream: `unique` and `operations` are about changes, and no column says what a record does. "
                "Name it, as in stream(…, op='op', unique='id'), or leave them out."
            )
        return None
    columns = (unique,) if isinstance(unique, str) else tuple(unique)
    return Changes(op, columns, tuple((operations or {}).items()))
