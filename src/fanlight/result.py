"""A complete pipeline: its rows, its dead letters, its accounting, where it is written, and what may follow it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

import pyarrow as pa

from fanlight.embedded.run import Clock, EmbeddedRun, LettersHeard
from fanlight.embedded.sources import Source
from fanlight.embedded.standalone import WindowOperator
from fanlight.errors import OtherEngine, SpecError
from fanlight.explain import explained, stage_lines
from fanlight.model.aggregates import Aggregate
from fanlight.model.duration import DurationLike
from fanlight.model.spec import WindowSpec
from fanlight.operators.accounting import Accounting, as_first
from fanlight.operators.stages import next_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from fanlight.spark.inspection import Inspection
    from fanlight.spark.run import SparkRun
    from fanlight.spark.sinks.targets import Properties, Target


@dataclass(frozen=True, slots=True, repr=False)
class Reading:
    """What a pipeline reads, and how. It is never printed: a source may be large, or secret."""

    source: Source | DataFrame
    clock: Clock | None = None
    rows: int | None = None
    schema: pa.Schema | None = None
    strict: bool = False

    @property
    def is_on_spark(self) -> bool:
        """Whether the source is a Spark DataFrame; pyspark is imported only then."""
        return type(self.source).__module__.startswith("pyspark.")

    def __repr__(self) -> str:
        if self.is_on_spark:
            return f"a {'streaming' if cast('DataFrame', self.source).isStreaming else 'batch'} DataFrame"
        names = getattr(getattr(self.source, "schema", None), "names", None)
        columns = "" if names is None else f" of {', '.join(f'`{name}`' for name in names)}"
        return f"a {type(self.source).__name__}{columns}"


class Result:
    """A complete pipeline, in this process or on Spark.

    Iterate over it for the rows as they fire, or take `table()`; on Spark take `df`, or `write_to`. Rows carry a
    `pane` column when a pane can fire more than once.
    """

    def __init__(
        self,
        spec: WindowSpec,
        run: EmbeddedRun | SparkRun,
        *,
        reading: Reading | None = None,
        before: Result | None = None,
    ) -> None:
        """`reading` is what the first stage reads; a later one reads the results of the stage `before`."""
        self.spec = spec
        self.before = before
        """The stage whose results this one reads, if there is one."""
        self._reading = reading
        self._run = run if isinstance(run, EmbeddedRun) else None
        self._spark = None if isinstance(run, EmbeddedRun) else run

    @staticmethod
    def over(spec: WindowSpec, reading: Reading) -> Result:
        """The pipeline of `spec` over what is read: on Spark if that is a Spark DataFrame, else in this process."""
        run = _spark_run(spec, reading) if reading.is_on_spark else _embedded_run(spec, reading)
        return Result(spec, run, reading=reading)

    def followed_by(self, spec: WindowSpec) -> Result:
        """The next stage, which reads the results of this one."""
        run = EmbeddedRun(spec, self._embedded()) if self._spark is None else self._spark.followed_by(spec)
        return Result(spec, run, before=self)

    @property
    def df(self) -> DataFrame:
        """The rows as a Spark DataFrame, where the source is one: for `writeStream`, or any other use."""
        return self.on_spark("df", "Use table(), or give stream() a DataFrame.").df()

    def write_to(
        self,
        target: Target,
        *,
        table: str | None = None,
        dead_letters: Target | None = None,
        accounting: Target | Literal[False] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        available_now: bool = False,
        flush: bool = False,
        every: DurationLike | None = None,
        name: str | None = None,
        properties: Properties | None = None,
        keep: DurationLike | None = None,
        refused: Literal["stop", "letters"] = "stop",
        on_mismatch: Literal["refuse", "accept"] = "refuse",
    ) -> StreamingQuery | None:
        """Write rows, dead letters and accounting where `target` says; a stream's query is started and returned.

        `target`, `dead_letters` and `accounting` are each 'sqlite:///totals.db' or 'jdbc:…' (with `table`, and the
        driver's `properties`), a folder for parquet, a file of JSON lines, or a function of (rows, batch). The latter
        two go beside the first unless they are told where; `accounting=False` leaves it out. `keep` is how long they
        stay in a database. `refused="letters"` makes dead letters of rows that the database does not take.

        `checkpoint` is the folder of a stream's state. `available_now` takes what is there and ends; with `flush` the
        input ends too, and every open window fires. `every` starts a batch that often; `name` names the query.
        `on_mismatch="accept"` goes on, once, where a place and the checkpoint do not belong together. See
        docs/sinks.md.
        """
        run = self.on_spark("write_to", "Write table() yourself, or give stream() a DataFrame.")
        from fanlight.spark.writing import write

        return write(
            run,
            target,
            table=table,
            dead_letters=dead_letters,
            accounting=accounting,
            checkpoint=checkpoint,
            available_now=available_now,
            flush=flush,
            every=every,
            name=name,
            properties=properties,
            keep=keep,
            refused=refused,
            on_mismatch=on_mismatch,
        )

    def explain(self) -> str:
        """What the pipeline reads, when it fires, what it keeps and for how long, where it runs: as text.

        >>> import fanlight as fl
        >>> sales = fl.stream([], time="ts", delay="5 s").key_by("shop")
        >>> print(sales.window(fl.tumbling("1 minute"), lateness="1 hour").agg(n=fl.count()).explain())
        runs       in this process, in one shard
        reads      a list
        keys       `shop`
        windows    tumbling 1 min, lateness 1 h
        time       `ts`, event time; more than 1 d ahead of the clock is a dead letter
        watermark  5 s behind the greatest time seen
        fires      at watermark late (after 1), accumulating
        gives      n = count
        keeps      partial aggregates by slice, until the last window of a slice has expired
        """
        before = [] if self.before is None else [self.before.explain(), ""]
        where = "in this process, in one shard" if self._spark is None else self._spark.explain()
        reads = "the results of the stage before" if self.before is not None else repr(self._reading)
        return "\n".join([*before, explained([("runs", where), ("reads", reads), *stage_lines(self.spec)])])

    def __repr__(self) -> str:
        """The pipeline in words, never its data."""
        return f"<fanlight pipeline>\n{self.explain()}"

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, as the source is read; it need never end. See `on_dead_letters`."""
        for batch in self._embedded():
            yield batch.drop_columns(["pane"]) if self.spec.fires_once else batch

    def table(self) -> pa.Table:
        """All rows. Reads the source to its end the first time."""
        table = self._embedded().table()
        return table.drop_columns(["pane"]) if self.spec.fires_once and len(table.schema) else table

    @property
    def dead_letters(self) -> pa.Table | DataFrame:
        """The records that could not be used, each with its reason, watermark, detail and the record itself.

        Reads the source to its end, unless you iterate over the result: then these are those so far, the newest 10,000
        at least, and `accounting.dead_letters` says how many there were. `on_dead_letters` hands on all.

        On Spark a DataFrame, like `df`; on a stream it is a query of its own.
        """
        if self._spark is not None:
            return self._spark.dead_letters()
        self._embedded().finish()
        if self.before is not None:
            first = self.before.dead_letters  # what a stage fires is never late for the next, but may be out of range
            own = [as_first(one, first.schema) for one in self._embedded().dead_letters().to_batches()]
            return pa.concat_tables([first, pa.Table.from_batches(own, first.schema)])
        return self._embedded().dead_letters()

    def on_dead_letters(self, function: LettersHeard) -> Result:
        """Hand the dead letters of each step to `function`, a table at a time, as they come; none is kept.

        What the function raises ends the run. On Spark, `write_to` hands them to its function or target.

        >>> import fanlight as fl
        >>> clicks = [{"ts": 5}, {"ts": None}, {"ts": 42}]
        >>> counted = fl.stream(clicks, time="ts", unit="s", rows=1).window(fl.tumbling("1 minute")).agg(n=fl.count())
        >>> for rows in counted.on_dead_letters(lambda letters: print(letters["reason"].to_pylist())):
        ...     print(rows["n"].to_pylist())
        ['null_time']
        [2]
        """
        if self._spark is not None:
            raise OtherEngine(
                "on_dead_letters: this pipeline runs on Spark. Use write_to, which writes dead letters too."
            )
        if self.before is not None:
            self.before.on_dead_letters(function)
        self._embedded().hand_on_letters(function)
        return self

    @property
    def accounting(self) -> Accounting:
        """Where every record went: `received = accepted + duplicates + dead_letters`.

        Reads the source to its end, unless you iterate over the result: then it tells of what has come so far.
        """
        if self._spark is not None:
            raise OtherEngine("accounting: this pipeline runs on Spark, which counts step by step. Use accounts.")
        run = self._embedded()
        run.finish()
        return run.accounting

    @property
    def accounts(self) -> DataFrame:
        """On Spark, where every record went: a row for each step of a shard; on a stream, a query of its own."""
        return self.on_spark("accounts", "Use accounting.").accounting()

    def rewindow(self) -> Rewindowed:
        """Group these results again, inside the windows they belong to.

        The columns are those of the result, `window_start`, `window_end`, and `row`, the result as one struct.

        >>> import fanlight as fl
        >>> sales = [{"ts": second, "shop": shop} for second, shop in enumerate("abbcbca")]
        >>> shops = fl.stream(sales, time="ts", unit="s").key_by("shop")
        >>> counts = shops.window(fl.tumbling("1 minute")).agg(n=fl.count())
        >>> best = counts.rewindow().agg(best=fl.top("row", 2, by="n"))
        >>> best.table().column("best").to_pylist()
        [[{'shop': 'b', 'n': 3}, {'shop': 'a', 'n': 2}]]
        """
        return Rewindowed(self)

    def operator(self, **options: object) -> WindowOperator:
        """The standalone operator of this pipeline, for feeding by hand."""
        reading = self._reading
        settings = {} if reading is None else {"schema": reading.schema, "strict": reading.strict}
        return WindowOperator(self.spec, **{**settings, **options})  # type: ignore[arg-type]

    def _embedded(self) -> EmbeddedRun:
        if self._run is None:
            raise OtherEngine("This pipeline runs on Spark, which gives its rows as a DataFrame. Use df.")
        return self._run

    def on_spark(self, what: str, remedy: str = "Give stream() a DataFrame.") -> SparkRun:
        """The run on Spark, or an error that says what asked for it."""
        if self._spark is None:
            raise OtherEngine(f"{what}: this pipeline reads no Spark DataFrame. {remedy}")
        return self._spark


@dataclass(frozen=True, slots=True, repr=False)
class Rewindowed:
    """Results to be grouped again inside their windows: say by what, then `agg`."""

    result: Result
    keys: tuple[str, ...] = ()

    def key_by(self, *columns: str) -> Rewindowed:
        """Group by these columns of the result; without, each window is one group."""
        return replace(self, keys=checked_keys(columns))

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each group; the stage fires each window once, when it is final."""
        return self.result.followed_by(next_spec(self.result.spec, self.keys, checked(aggregates)))

    def __repr__(self) -> str:
        """What is grouped again, and by what."""
        return f"{self.result!r}\nto be grouped again by {', '.join(self.keys) or 'window alone'}: say agg(…)"


def inspect(
    checkpoint: str | os.PathLike[str],
    pipeline: Result | None = None,
    *,
    stage: int | None = None,
    spark: SparkSession | None = None,
) -> Inspection:
    """The windows and messages of a query on Spark, running or stopped, from its checkpoint.

    What the pipeline was is in the manifest that `write_to` leaves. Where there is none, or Python code is part of the
    pipeline, give the pipeline itself. `stage` is which one of several, counted from 1; the last if it is not given.
    """
    from fanlight.spark.inspection import inspect as look

    return look(checkpoint, None if pipeline is None else pipeline.on_spark("inspect"), stage=stage, spark=spark)


def checked(aggregates: Mapping[str, Aggregate]) -> tuple[tuple[str, Aggregate], ...]:
    """Aggregates by name, as a spec has them."""
    given: Mapping[str, object] = aggregates
    for name, aggregate in given.items():
        if not isinstance(aggregate, Aggregate):
            called = " It is a function: call it." if callable(aggregate) else ""
            raise SpecError(
                f"agg: {name}={aggregate!r} is not an aggregate.{called} Use one, as in {name}=sum('price')."
            )
    return tuple(aggregates.items())


def checked_keys(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns to group by, each a name."""
    given: tuple[object, ...] = columns
    for column in given:
        if not isinstance(column, str):
            listed = ", ".join(map(repr, column)) if isinstance(column, list | tuple) else "'product'"
            raise SpecError(
                f"key_by: {column!r} is a {type(column).__name__}, not the name of a column. Write key_by({listed})."
            )
    return columns


def _embedded_run(spec: WindowSpec, reading: Reading) -> EmbeddedRun:
    source = cast("Source", reading.source)
    read = {"clock": reading.clock, "rows": reading.rows, "schema": reading.schema, "strict": reading.strict}
    return EmbeddedRun(spec, source, **read)  # type: ignore[arg-type]


def _spark_run(spec: WindowSpec, reading: Reading) -> SparkRun:
    from fanlight.spark.run import SparkRun

    if reading.clock is not None or reading.rows is not None or reading.schema is not None:
        raise SpecError("stream: `clock`, `rows` and `schema` are Spark's own on a DataFrame. Leave them out.")
    return SparkRun(spec, cast("DataFrame", reading.source))
