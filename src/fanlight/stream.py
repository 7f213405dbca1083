"""The words a pipeline is written in: `stream(…).key_by(…).window(…).trigger(…).agg(…)`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Self

import pyarrow as pa

from fanlight.embedded.run import Clock
from fanlight.embedded.sources import Source
from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.choice import choice
from fanlight.model.document import to_document, words
from fanlight.model.duration import Duration, DurationLike
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.kinds import WindowKind
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import TimeUnit, WindowSpec
from fanlight.model.triggers import AtWatermark, Trigger
from fanlight.model.watermarks import BoundedDisorder, WatermarkStrategy
from fanlight.model.windows import TimeDomain
from fanlight.result import Reading, Result, checked, checked_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def stream(
    source: Source | DataFrame,
    *,
    time: str,
    delay: DurationLike | None = None,
    watermark: WatermarkStrategy | None = None,
    unit: TimeUnit | str | None = None,
    tick: DurationLike = "1 us",
    ahead: DurationLike | None = "1 day",
    clock: Clock | None = None,
    rows: int | None = None,
    schema: pa.Schema | None = None,
    strict: bool = False,
) -> Stream:
    """A stream of records with an event time, to be windowed.

    `source` is an Arrow table, record batches, a pandas DataFrame, an iterable of dicts, or a Spark DataFrame,
    streaming or not; then the pipeline runs on Spark, and `df` of the result is a DataFrame. `delay` is how far out of
    order records may be (`watermark` gives any other strategy). `unit` says what whole numbers in the time column
    count: 's', 'ms', 'us' or 'ns'; without it they are refused. `clock` names a column of arrival times, or is the
    caller's clock, for triggers that need one. Where a clock is known (Spark's streams have one), a record whose time
    is further `ahead` of it is a dead letter, and moves no watermark; None lets it pass. `rows` bounds a bundle.

    `schema` says the columns and types; without it the first bundle does. A value that does not fit its column exactly
    makes its record a dead letter, and a field that is no column is ignored; `strict` stops at either instead.

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
    counted = None if unit is None else choice(TimeUnit, unit, "unit")
    limit = None if ahead is None else Duration.of(ahead)
    return Stream(reading, time, strategy, counted, Duration.of(tick), limit, ())


@dataclass(frozen=True, slots=True, repr=False)
class Stream:
    """Records with an event time, keyed or not."""

    reading: Reading
    time: str
    watermark: WatermarkStrategy
    unit: TimeUnit | None
    tick: Duration
    ahead: Duration | None
    keys: tuple[str, ...]

    def key_by(self, *columns: str) -> Stream:
        """Group by these columns; null is a group of its own."""
        if not columns:
            raise SpecError("key_by: needs at least one column. Leave key_by out for one group.")
        return replace(self, keys=checked_keys(columns))

    def window(
        self, kind: WindowKind, *, lateness: DurationLike = "0 s", retention: Retention | None = None
    ) -> Windowed:
        """Cut the stream into windows that stay correctable for `lateness` after they close."""
        if not isinstance(kind, WindowKind):
            raise SpecError(f"window: {kind!r} is no kind of window. Use one, as in window(tumbling('1 minute')).")
        return Windowed(self, kind, Duration.of(lateness), retention)

    def __repr__(self) -> str:
        """What is read and how it is keyed, never the data."""
        keyed = f", by {', '.join(f'`{name}`' for name in self.keys)}" if self.keys else ""
        return f"<fanlight stream over {self.reading!r}, time `{self.time}`{keyed}>"

    if not TYPE_CHECKING:  # a checker knows what is missing, and says it before it runs

        def __getattr__(self, name: str) -> NoReturn:
            """Called for what a stream does not have: what comes after `window` is told so."""
            later = f": say window(…) first, as in stream.window(tumbling('1 minute')).{name}(…)"
            raise AttributeError(f"A stream has no {name!r}{later if hasattr(Windowed, name) else ''}.")


@dataclass(frozen=True, slots=True, repr=False)
class Windowed:
    """A windowed stream: say when it fires and what a firing carries, then `agg`."""

    stream: Stream
    kind: WindowKind
    lateness: Duration
    retention: Retention | None
    firing: Trigger = AtWatermark()
    updated_only: bool = False
    accumulation: Accumulation = Accumulation.ACCUMULATING
    rules: Semantics = Semantics()
    stamp: FiringTime = FiringTime.END

    def trigger(self, trigger: Trigger, *, updated_only: bool = False) -> Self:
        """When panes fire. `updated_only` holds back firings whose values did not change."""
        if not isinstance(trigger, Trigger):
            raise SpecError(
                f"trigger: {trigger!r} is no trigger. Use one, as in trigger(at_watermark(early=after(1)))."
            )
        return replace(self, firing=trigger, updated_only=updated_only)

    def discarding(self) -> Self:
        """A firing carries what came since the last one."""
        return replace(self, accumulation=Accumulation.DISCARDING)

    def accumulating(self) -> Self:
        """A firing carries all so far."""
        return replace(self, accumulation=Accumulation.ACCUMULATING)

    def retracting(self) -> Self:
        """A firing carries all so far, after the one before has been taken back."""
        return replace(self, accumulation=Accumulation.RETRACTING)

    def semantics(self, rules: Semantics | str) -> Self:
        """Answer the questions peers disagree on as one of them does: 'beam', 'flink', 'kafka' and so on."""
        return replace(self, rules=Semantics.named(rules) if isinstance(rules, str) else rules)

    def closing(self, *, on_time: OnTime | str | None = None, last: Closing | str | None = None) -> Self:
        """Whether an on-time firing and a last firing leave with nothing new in them."""
        rules = self.rules
        if on_time is not None:
            rules = replace(rules, on_time=choice(OnTime, on_time, "on_time"))
        if last is not None:
            rules = replace(rules, closing=choice(Closing, last, "last"))
        return replace(self, rules=rules)

    def stamped(self, time: FiringTime | str) -> Self:
        """Which event time a firing carries: the window's end, or its earliest or latest record."""
        return replace(self, stamp=choice(FiringTime, time, "stamped"))

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each pane; the pipeline is complete."""
        spec = WindowSpec(
            time=self.stream.time,
            window=self.kind,
            aggregates=checked(aggregates),
            keys=self.stream.keys,
            trigger=self.firing,
            accumulation=self.accumulation,
            updated_only=self.updated_only,
            lateness=self.lateness,
            retention=self.retention,
            watermark=self.stream.watermark,
            semantics=self.rules,
            firing_time=self.stamp,
            unit=self.stream.unit,
            tick=self.stream.tick,
            ahead=self.stream.ahead if self.kind.domain is TimeDomain.EVENT else None,
        )
        return Result.over(spec, self.stream.reading)

    def __repr__(self) -> str:
        """The stream and its windows, never the data."""
        return f"{repr(self.stream)[:-1]}, windows {words(to_document(self.kind))}: say agg(…) to complete it>"

    if not TYPE_CHECKING:  # as above

        def __getattr__(self, name: str) -> NoReturn:
            """Called for what a windowed stream does not have: what comes before `window` or after `agg` is told so."""
            if hasattr(Stream, name):
                told = f": say {name}(…) before window(…)"
            else:
                told = f": say agg(…) first, as in agg(n=count()).{name}" if hasattr(Result, name) else ""
            raise AttributeError(f"A windowed stream has no {name!r}{told}.")
