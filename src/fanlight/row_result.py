"""A complete pipeline: its rows, its dead letters, its accounting, where it is written, and what may follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, cast

import pyarrow as pa

from fanlight.advice import is_fed_by_hand
from fanlight.display.plan import FORMATS
from fanlight.display.preview import is_at_hand
from fanlight.display.progress import Watched
from fanlight.display.shown import Shown
from fanlight.embedded.feed import Clock, Feed, Reads, SourceFeed, StageFeed, StageRun
from fanlight.embedded.one_bundle import comes_in_bundles, records_in
from fanlight.embedded.run import EmbeddedRun, LettersHeard
from fanlight.embedded.sources import Source
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.embedded.time_cut import TimeCut
from fanlight.errors import OtherEngine, SpecError
from fanlight.explain import ToldStage, stage_lines, told_input
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit, Several
from fanlight.operators.accounting import Accounting, as_first
from fanlight.operators.handover import Handover
from fanlight.over import OverRows
from fanlight.stream import Origin, Spec_, Stream, StreamWords
from fanlight.windowed_over import PartitionRows
from fanlight.written import Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.spark.run import SparkRun


@dataclass(frozen=True, slots=True, repr=False)
class Reading:
    """What a pipeline reads, and how. It is never printed: a source may be large, or secret."""

    source: Source | DataFrame
    clock: Clock | None = None
    rows: int | None = None
    schema: pa.Schema | None = None
    strict: bool = False
    cut: TimeCut | None = None
    """How it is cut into bundles by its times, if it is."""
    reads: Reads = field(default_factory=Reads)
    """How often the source was read: by all pipelines over it together."""

    @property
    def is_on_spark(self) -> bool:
        """Whether the source is a Spark DataFrame; pyspark is imported only then."""
        return type(self.source).__module__.startswith("pyspark.")

    @property
    def comes_in_bundles(self) -> bool:
        """Whether it is read in more than one bundle, or may be: then a record can be late."""
        if self.is_on_spark:
            return cast("DataFrame", self.source).isStreaming
        return self.rows is not None or self.cut is not None or comes_in_bundles(cast("Source", self.source))

    @property
    def length(self) -> int | None:
        """How many records it has, if that is known."""
        return None if self.is_on_spark else records_in(cast("Source", self.source))

    @property
    def is_at_hand(self) -> bool:
        """Whether it can be read unasked."""
        return not self.is_on_spark and is_at_hand(self.source, self.clock)

    @property
    def has_clock(self) -> bool:
        """Whether it says a clock; Spark does, and so does whoever feeds records by hand."""
        return self.is_on_spark or self.clock is not None or is_fed_by_hand(self.source)

    @property
    def told_inputs(self) -> list[tuple[str, str | None]]:
        """The source, the only one."""
        return [("", repr(self))]

    def complete(self, spec: StreamSpec, intake: Intake) -> RowResult[Any]:
        """The pipeline of `spec` over what is read: on Spark if that is a Spark DataFrame, else in this process."""
        if self.is_on_spark:
            return completed(spec, _spark_run(spec, self, intake), reading=self)
        settings = {"schema": self.schema, "strict": self.strict, "intakes": {"": intake} if intake else None}
        run = EmbeddedRun(spec, self.feed(spec.unit), **settings)  # type: ignore[arg-type]
        return completed(spec, run, reading=self)

    def feed(self, unit: TimeUnit | None) -> Feed:
        """What is read, in this process."""
        return SourceFeed(cast("Source", self.source), self.clock, self.rows, self.schema, unit, self.reads, self.cut)

    def __repr__(self) -> str:
        if self.is_on_spark:
            return f"a {'streaming' if cast('DataFrame', self.source).isStreaming else 'batch'} DataFrame"
        names = getattr(getattr(self.source, "schema", None), "names", None)
        columns = "" if names is None else f" of {', '.join(f'`{name}`' for name in names)}"
        return f"a {type(self.source).__name__}{columns}"


class RowResult(Shown, Written, StreamWords, Generic[Spec_]):
    """A complete pipeline, in this process or on Spark. It is a stream again, and any stage can follow it.

    Iterate over it for the rows as they leave, or take `table()`; on Spark take `df`, or `write_to`. Rows of windows
    carry a `pane` column when a pane can fire more than once.

    >>> import fanlight as fl
    >>> rows = fl.stream([{"ts": 2}, {"ts": 1}], time="ts", unit="s", delay="5 s").sort()
    >>> rows.table()["ts"].to_pylist(), rows.accounting.accepted
    ([1, 2], 2)
    """

    def __init__(
        self,
        spec: Spec_,
        run: EmbeddedRun | SparkRun,
        *,
        reading: Origin | None = None,
        befores: Sequence[RowResult[Any]] = (),
    ) -> None:
        """`reading` is what it reads; or it reads the results of the stages `befores`, or both, in a union."""
        self.spec = spec
        self.befores = tuple(befores)
        """The stages whose results this one reads; most read one, or none."""
        self.over_rows: OverRows | PartitionRows | None = None
        """What it was declared as, if it is an `over`: another frame can share its pass."""
        self._reading = reading
        self._run = run if isinstance(run, EmbeddedRun) else None
        self._spark = None if isinstance(run, EmbeddedRun) else run

    def as_stream(self) -> Stream:
        """The result as a stream: its rows are records, with a time and with the watermark that this stage hands on."""
        onward = self.spec.continuation
        said = Explicit(), onward.unit, onward.tick
        return Stream(self, onward.time, *said, None, lateness=onward.lateness, changes=onward.changes)

    def complete(self, spec: StreamSpec, intake: Intake) -> RowResult[Any]:
        """The next stage, which reads the results of this one; this one can still be read by itself."""
        if self._spark is not None:
            return completed(spec, self._spark.followed_by(spec, intake or None), befores=[self])
        before = self.again()
        return completed(
            spec, EmbeddedRun(spec, before.feed(spec), intakes={"": intake} if intake else None), befores=[before]
        )

    def again(self) -> Self:
        """In this process, the same pipeline with a run of its own."""
        befores = [before.again() for before in self.befores]
        pairs = zip(self.befores, befores, strict=True)
        runs: dict[StageRun, StageRun] = {old.embedded_run(): new.embedded_run() for old, new in pairs}
        return type(self)(self.spec, self.embedded_run().again(runs), reading=self._reading, befores=befores)

    def feed(self, spec: StreamSpec) -> Feed:
        """In this process, the results of this stage for the stage of `spec`."""
        among_others = isinstance(spec.watermark, Several) and not spec.goes_by_input
        return StageFeed(self.embedded_run(), Handover.of(self.spec, spec), among_others)

    @property
    def is_on_spark(self) -> bool:
        """Whether it runs on Spark."""
        return self._spark is not None

    @property
    def has_clock(self) -> bool:
        """Whether what it reads says a clock, which every stage hands on."""
        return any(one.has_clock for one in (self._reading, *self.befores) if one is not None)

    @property
    def is_at_hand(self) -> bool:
        """Whether all that it reads can be read unasked, and nobody would hear of it."""
        read = all(one.is_at_hand for one in (self._reading, *self.befores) if one is not None)
        return read and not self.is_on_spark and not self.embedded_run().hands_on_letters

    @property
    def before(self) -> RowResult[Any] | None:
        """The stage whose results this one reads, if it reads one."""
        return self.befores[0] if self.befores else None

    @property
    def stages(self) -> tuple[RowResult[Any], ...]:
        """The stages of the pipeline, from the one that reads the source to this one."""
        return (*(stage for before in self.befores for stage in before.stages), self)

    @property
    def df(self) -> DataFrame:
        """The rows as a Spark DataFrame, where the source is one: for `writeStream`, or any other use."""
        return self.on_spark("df", "Use table(), or give stream() a DataFrame.").df()

    def explain(self, format: Literal["text", "html", "svg"] = "text") -> str:  # noqa: A002 -- as Spark's is called
        """What the pipeline reads, when it fires, what it keeps and for how long, where it runs.

        As text; or the same as a graph of its stages with their inputs, exchanges, watermarks and state, in HTML or as
        an SVG document.

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
        if format not in FORMATS:
            raise SpecError(f"explain: `format` ({format!r}) must be one of {', '.join(map(repr, FORMATS))}.")
        return FORMATS[format](self.told())

    def told(self) -> ToldStage:
        """What `explain` says of this stage and of those before it."""
        where = "in this process, in one shard" if self._spark is None else self._spark.explain()
        origin = self if self._reading is None else self._reading
        intakes, befores, inputs = self._intakes(), iter(self.befores), []
        for name, what in origin.told_inputs:
            before = next(befores).told() if what is None else None
            intake = intakes.get(name)
            after = intake.preparation.told if intake is not None and intake.preparation else ""
            inputs.append(told_input(self.spec, name, what or "the results of the stage before", after, before))
        reads = "the results of the stage before" if self._reading is None else repr(self._reading)
        stages = {one.name: one.before.spec for one in inputs if one.before is not None}
        said = stage_lines(self.spec, self.befores[0].spec if self._reading is None else stages)
        exchange = "" if self._spark is None else self._spark.exchange
        return ToldStage(self.spec, where, reads, tuple(inputs), said, exchange)

    @property
    def told_inputs(self) -> list[tuple[str, str | None]]:
        """These results, as the only input of the next stage."""
        return [("", None)]

    def __repr__(self) -> str:
        """The pipeline in words, never its data."""
        return f"<fanlight pipeline>\n{self.explain()}"

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, as the source is read; it need never end. See `on_dead_letters`."""
        for batch in self.embedded_run():
            yield batch.drop_columns(list(self.spec.hidden))

    def table(self, *, progress: bool | None = None) -> pa.Table:
        """All rows. Reads the source to its end the first time.

        On a terminal a bar shows how far it is when that takes a while; `progress` shows it at once, or never.

        >>> import fanlight as fl
        >>> fl.stream([{"ts": 2}, {"ts": 1}], time="ts", unit="s").sort().table(progress=False).to_pylist()
        [{'ts': 1}, {'ts': 2}]
        """
        with Watched(getattr(self._reading, "length", None), wanted=progress) as work:
            table = self.embedded_run().table(work.heard)
        return table.drop_columns(list(self.spec.hidden)) if len(table.schema) else table

    @property
    def dead_letters(self) -> Any:
        """A table of the records that could not be used, each with its reason, watermark, detail and the record itself.

        Reads the source to its end, unless you iterate over the result: then these are those so far, the newest 10,000
        at least, and `accounting.dead_letters` says how many there were. `on_dead_letters` hands on all.

        Those of all stages are here, in the form of the first. A letter of a later stage has no record of the source:
        its `detail` says the stage and the record, and `stages[1].own_dead_letters` has them as they are.

        On Spark it is a DataFrame, like `df`; on a stream that is a query of its own.

        >>> import fanlight as fl
        >>> rows = fl.stream([{"ts": 2}, {"ts": None}], time="ts", unit="s").sort()
        >>> rows.dead_letters["reason"].to_pylist()
        ['null_time']
        """
        if self._spark is not None:
            return self._spark.dead_letters()
        self.embedded_run().finish()
        own = self.embedded_run().dead_letters()
        if not self.befores:
            return own
        first, *later = [stage.own_dead_letters for stage in self.stages]
        told = [
            pa.Table.from_batches([as_first(one, first.schema, number) for one in letters.to_batches()], first.schema)
            for number, letters in enumerate(later, 2)
        ]
        return pa.concat_tables([first, *told])

    @property
    def own_dead_letters(self) -> pa.Table:
        """In this process, the records that this stage could not use, those of the stages before left out."""
        self.embedded_run().finish()
        return self.embedded_run().dead_letters()

    def on_dead_letters(self, function: LettersHeard) -> Self:
        """Hand the dead letters of each step to `function`, a table at a time, as they come; none is kept.

        What the function raises ends the run. On Spark, `write_to` hands them to its function or target.

        >>> import fanlight as fl
        >>> clicks = [{"ts": 5}, {"ts": None}, {"ts": 42}]
        >>> minutes = fl.stream(clicks, time="ts", unit="s", delay="0 s", rows=1).window(fl.tumbling("1 minute"))
        >>> counted = minutes.agg(n=fl.count())
        >>> for rows in counted.on_dead_letters(lambda letters: print(letters["reason"].to_pylist())):
        ...     print(rows["n"].to_pylist())
        ['null_time']
        [2]
        """
        if self._spark is not None:
            raise OtherEngine(
                "on_dead_letters: this pipeline runs on Spark. Use write_to, which writes dead letters too."
            )
        for before in self.befores:
            before.on_dead_letters(function)
        self.embedded_run().hand_on_letters(function)
        return self

    @property
    def accounting(self) -> Accounting:
        """Where every record of this stage went: `received = accepted + duplicates + dead_letters`; see `stages`.

        Reads the source to its end, unless you iterate over the result: then it tells of what has come so far.

        >>> import fanlight as fl
        >>> counts = fl.stream([{"ts": 2}, {"ts": None}], time="ts", unit="s").sort().accounting
        >>> counts.received, counts.accepted, counts.dead_letters, counts.adds_up
        (2, 1, 1, True)
        """
        if self._spark is not None:
            raise OtherEngine("accounting: this pipeline runs on Spark, which counts step by step. Use accounts.")
        run = self.embedded_run()
        run.finish()
        return run.accounting

    @property
    def accounting_by_input(self) -> dict[str, Accounting]:
        """In this process, where the records of each input of a union went."""
        run = self.embedded_run()
        run.finish()
        return run.accounting_by_input

    @property
    def accounts(self) -> DataFrame:
        """On Spark, where every record went: a row for each step of a shard; on a stream, a query of its own."""
        return self.on_spark("accounts", "Use accounting.").accounting()

    def operator(self, **options: object) -> StandaloneOperator[Spec_]:
        """The standalone operator of this pipeline, for feeding by hand."""
        return StandaloneOperator(self.spec, **self._settings(options))

    def _settings(self, options: dict[str, object]) -> dict[str, Any]:
        reading = self._reading if isinstance(self._reading, Reading) else None
        settings = {} if reading is None else {"schema": reading.schema, "strict": reading.strict}
        return {**settings, "intakes": None if self._run is None else self._run.intakes, **options}

    def _intakes(self) -> dict[str, Intake]:
        """What is done to the records of each input first."""
        if self._spark is not None:
            return {one.name: one.intake for one in self._spark.inputs if one.intake is not None}
        return dict(self.embedded_run().intakes or {})

    def embedded_run(self) -> EmbeddedRun:
        """The run in this process, or an error that says what to use on Spark."""
        if self._run is None:
            raise OtherEngine("This pipeline runs on Spark, which gives its rows as a DataFrame. Use df.")
        return self._run

    def on_spark(self, what: str, remedy: str = "Give stream() a DataFrame.") -> SparkRun:
        """The run on Spark, or an error that says what asked for it."""
        if self._spark is None:
            raise OtherEngine(f"{what}: this pipeline reads no Spark DataFrame. {remedy}")
        return self._spark


def _spark_run(spec: StreamSpec, reading: Reading, intake: Intake) -> SparkRun:
    from fanlight.spark.run import SparkRun

    if any(said is not None for said in (reading.clock, reading.rows, reading.cut, reading.schema)):
        raise SpecError("stream: `clock`, `rows`, `every` and `schema` are Spark's own on a DataFrame. Leave them out.")
    return SparkRun.over(spec, cast("DataFrame", reading.source), intake or None)


@singledispatch
def completed(spec: StreamSpec, run: EmbeddedRun | SparkRun, **read: Any) -> RowResult[Any]:
    """The result of a spec. A spec whose result has words of its own registers it here."""
    return RowResult(spec, run, **read)
