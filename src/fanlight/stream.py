"""The words a pipeline is written in: `stream(…).key_by(…).window(…).trigger(…).agg(…)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, cast

import pyarrow as pa

from fanlight.embedded.run import Clock, EmbeddedRun
from fanlight.embedded.sources import Source
from fanlight.embedded.standalone import WindowOperator
from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.choice import choice
from fanlight.model.duration import Duration, DurationLike
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import TimeUnit, WindowSpec
from fanlight.model.triggers import AtWatermark, Trigger
from fanlight.model.watermarks import BoundedDisorder, WatermarkStrategy
from fanlight.model.windows import WindowKind
from fanlight.operators.accounting import Accounting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.spark.run import SparkRun


def stream(
    source: Source | DataFrame,
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

    `source` is an Arrow table, record batches, a pandas DataFrame, an iterable of dicts, or a Spark DataFrame,
    streaming or not; then the pipeline runs on Spark, and `df` of the result is a DataFrame. `delay` is how far out of
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
    return Stream(run, time, strategy, choice(TimeUnit, unit, "unit"), Duration.of(tick), ())


@dataclass(frozen=True, slots=True)
class _Run:
    """What a pipeline reads, and how."""

    source: Source | DataFrame
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
            rules = replace(rules, on_time=choice(OnTime, on_time, "on_time"))
        if last is not None:
            rules = replace(rules, closing=choice(Closing, last, "last"))
        return replace(self, rules=rules)

    def stamped(self, time: FiringTime | str) -> Self:
        """Which event time a firing carries: the window's end, or its earliest or latest record."""
        return replace(self, stamp=choice(FiringTime, time, "stamped"))

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
        self._spark = _spark_run(spec, run)
        self._run = None if self._spark else _embedded_run(spec, run)

    @property
    def df(self) -> DataFrame:
        """The rows as a Spark DataFrame, where the source is one: for `writeStream`, or any other use."""
        if self._spark is None:
            raise SpecError("df: this pipeline reads no Spark DataFrame. Use table(), or give stream() a DataFrame.")
        return self._spark.df()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, as the source is read."""
        for batch in self._embedded():
            yield batch.drop_columns(["pane"]) if self.spec.fires_once else batch

    def table(self) -> pa.Table:
        """All rows. Reads the source to its end the first time."""
        table = self._embedded().table()
        return table.drop_columns(["pane"]) if self.spec.fires_once and len(table.schema) else table

    @property
    def dead_letters(self) -> pa.Table | DataFrame:
        """The records that could not be used, with the reason, the watermark and the record itself.

        On Spark a DataFrame, like `df`; on a stream it is a query of its own.
        """
        if self._spark is not None:
            return self._spark.dead_letters()
        run = self._embedded()
        run.finish()
        return run.dead_letters()

    @property
    def accounting(self) -> Accounting:
        """Where every record went: `received = accepted + duplicates + dead_letters`. Reads the source to its end."""
        run = self._embedded()
        run.finish()
        return run.accounting

    def operator(self, **options: object) -> WindowOperator:
        """The standalone operator of this pipeline, for feeding by hand."""
        return WindowOperator(self.spec, schema=self._schema, **options)  # type: ignore[arg-type]

    def _embedded(self) -> EmbeddedRun:
        if self._run is None:
            raise SpecError("This pipeline runs on Spark, which gives its rows as a DataFrame. Use df.")
        return self._run


def _embedded_run(spec: WindowSpec, run: _Run) -> EmbeddedRun:
    source = cast("Source", run.source)
    return EmbeddedRun(spec, source, clock=run.clock, rows=run.rows, schema=run.schema)


def _spark_run(spec: WindowSpec, run: _Run) -> SparkRun | None:
    """The run on Spark if the source is a Spark DataFrame; pyspark is imported only then."""
    if not type(run.source).__module__.startswith("pyspark."):
        return None
    from fanlight.spark.run import SparkRun

    if run.clock is not None or run.rows is not None or run.schema is not None:
        raise SpecError("stream: `clock`, `rows` and `schema` are Spark's own on a DataFrame. Leave them out.")
    return SparkRun(spec, cast("DataFrame", run.source))
