"""Where a pipeline begins: `stream`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.embedded.feed import Clock
from fanlight.embedded.sources import Source
from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.enum_word import choice
from fanlight.model.preparation import Preparation, extract_of
from fanlight.model.time.duration import Duration, DurationLike
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
    no watermark; None lets it pass. `rows` bounds a bundle.

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
    reading = Reading(source, clock, rows, schema, strict)
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
