"""The words a pipeline is written in: `stream(…).key_by(…).window(…).trigger(…).agg(…)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from fanlight.embedded.run import Clock, EmbeddedRun
from fanlight.embedded.sources import Source
from fanlight.embedded.standalone import WindowOperator
from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.duration import Duration, DurationLike
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import TimeUnit, WindowSpec
from fanlight.model.triggers import AtWatermark, Trigger
from fanlight.model.watermarks import BoundedDisorder, WatermarkStrategy
from fanlight.model.windows import WindowKind
from fanlight.operators.accounting import Accounting


def stream(
    source: Source,
    *,
    time: str,
    delay: DurationLike | None = None,
    watermark: WatermarkStrategy | None = None,
    unit: TimeUnit | str = TimeUnit.MICROSECONDS,
    tick: DurationLike = "1 us",
    clock: Clock | None = None,
    rows: int | None = None,
    schema: pa.Schema | None = None,
) -> Stream:
    """A stream of records with an event time, to be windowed.

    `source` is an Arrow table, record batches, a pandas DataFrame, or an iterable of dicts. `delay` is how far out of
    order records may be (`watermark` gives any other strategy). `unit` says what whole numbers in the time column
    count. `clock` names a column of arrival times, or is the caller's clock, for triggers that need one. `rows` bounds
    a bundle.

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
    run = _Run(source, clock, rows, schema)
    return Stream(run, time, strategy, TimeUnit(unit), Duration.of(tick), ())


@dataclass(frozen=True, slots=True)
class _Run:
    """What a pipeline reads, and how."""

    source: Source
    clock: Clock | None
    rows: int | None
    schema: pa.Schema | None


@dataclass(frozen=True, slots=True)
class Stream:
    """Records with an event time, keyed or not."""

    run: _Run
    time: str
    watermark: WatermarkStrategy
    unit: TimeUnit
    tick: Duration
    keys: tuple[str, ...]

    def key_by(self, *columns: str) -> Stream:
        """Group by these columns; null is a group of its own."""
        if not columns:
            raise SpecError("key_by: needs at least one column. Leave key_by out for one group.")
        return replace(self, keys=columns)

    def window(
        self, kind: WindowKind, *, lateness: DurationLike = "0 s", retention: Retention | None = None
    ) -> Windowed:
        """Cut the stream into windows that stay correctable for `lateness` after they close."""
        return Windowed(self, kind, Duration.of(lateness), retention)


@dataclass(frozen=True, slots=True)
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
            rules = replace(rules, on_time=OnTime(on_time))
        if last is not None:
            rules = replace(rules, closing=Closing(last))
        return replace(self, rules=rules)

    def stamped(self, time: FiringTime | str) -> Self:
        """Which event time a firing carries: the window's end, or its earliest or latest record."""
        return replace(self, stamp=FiringTime(time))

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each pane; the pipeline is complete."""
        for name, aggregate in aggregates.items():
            if not isinstance(aggregate, Aggregate):
                raise SpecError(f"agg: {name}={aggregate!r} is not an aggregate. Use one, as in {name}=sum('price').")
        spec = WindowSpec(
            time=self.stream.time,
            window=self.kind,
            aggregates=tuple(aggregates.items()),
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
        )
        return Result(spec, self.stream.run)


class Result:
    """A complete pipeline: its rows, its dead letters, its accounting.

    Iterate over it for the rows as they fire, or take `table()`. Rows carry a `pane` column when a pane can fire
    more than once.
    """

    def __init__(self, spec: WindowSpec, run: _Run) -> None:
        self.spec = spec
        self._schema = run.schema
        self._run = EmbeddedRun(spec, run.source, clock=run.clock, rows=run.rows, schema=run.schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, as the source is read."""
        for batch in self._run:
            yield batch.drop_columns(["pane"]) if self.spec.fires_once else batch

    def table(self) -> pa.Table:
        """All rows. Reads the source to its end the first time."""
        table = self._run.table()
        return table.drop_columns(["pane"]) if self.spec.fires_once and len(table.schema) else table

    @property
    def dead_letters(self) -> pa.Table:
        """The records that could not be used, with the reason, the watermark and the record itself."""
        self._run.table()
        return self._run.dead_letters()

    @property
    def accounting(self) -> Accounting:
        """Where every record went: `received = accepted + duplicates + dead_letters`. Reads the source to its end."""
        self._run.table()
        return self._run.accounting

    def operator(self, **options: object) -> WindowOperator:
        """The standalone operator of this pipeline, for feeding by hand."""
        return WindowOperator(self.spec, schema=self._schema, **options)  # type: ignore[arg-type]
