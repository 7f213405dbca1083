"""Several streams as one, each with a watermark of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from fanlight.embedded.feed import Feed, UnionFeed
from fanlight.embedded.run import EmbeddedRun
from fanlight.errors import SpecError
from fanlight.model.preparation import Intake, Preparation, Tag
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import ZERO, Duration, DurationLike
from fanlight.model.time.watermarks import Combine, Several
from fanlight.operators.accounting import INPUT
from fanlight.row_result import Reading, RowResult, completed
from fanlight.stream import Stream, StreamWords
from fanlight.whole_rows import of_whole_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.spark.run import SparkRun


@dataclass(frozen=True, slots=True, repr=False)
class Union:
    """Several streams as one: each has a watermark of its own."""

    streams: Mapping[str, Stream]

    def complete(self, spec: StreamSpec, intake: Intake) -> RowResult[Any]:
        """The pipeline of `spec` over all inputs; `intake` is what is done to records after those of each input."""
        intakes = {name: self.intake_of(name, stream, intake) for name, stream in self.streams.items()}
        if self.is_on_spark:
            results = [stream.origin for stream in self.streams.values() if isinstance(stream.origin, RowResult)]
            return completed(spec, self._spark_run(spec, intakes), reading=self, befores=results)
        feeds: dict[str, Feed] = {}
        befores: list[RowResult[Any]] = []
        for name, stream in self.streams.items():
            if isinstance(stream.origin, Reading):
                feeds[name] = stream.origin.feed(stream.unit)
            elif isinstance(stream.origin, RowResult):
                befores.append(stream.origin.again())  # also if another input reads the same results
                feeds[name] = befores[-1].feed(spec)
        releases = not isinstance(spec.watermark, Several) or spec.watermark.combine is Combine.MIN
        run = EmbeddedRun(spec, UnionFeed(feeds, releases), intakes=intakes, strict=self._strict)
        return completed(spec, run, reading=self, befores=befores)

    @property
    def _strict(self) -> bool:
        """Whether an input asks to stop at what does not fit; a step is that of all inputs, so all of them stop."""
        origins = [stream.origin for stream in self.streams.values()]
        return any(origin.strict for origin in origins if isinstance(origin, Reading))

    def _spark_run(self, spec: StreamSpec, intakes: Mapping[str, Intake]) -> SparkRun:
        from fanlight.spark.input import SparkInput
        from fanlight.spark.run import SparkRun

        inputs = []
        for name, stream in self.streams.items():
            if isinstance(stream.origin, RowResult):
                run = stream.origin.on_spark("union", "All inputs of a union run on one engine.")
                inputs.append(run.as_input(spec, intakes[name], name))
            elif isinstance(stream.origin, Reading):
                frame = cast("DataFrame", stream.origin.source)
                inputs.append(SparkInput(stream.watermark, frame, None, intakes[name], name))
        return SparkRun(spec, inputs)

    def intake_of(self, name: str, stream: Stream, intake: Intake) -> Intake:
        """What is done to the records of an input; `intake` is what is done to those of all inputs after it."""
        steps = (*stream.preparation.steps, Tag(INPUT, name), *intake.preparation.steps)
        return Intake(Preparation(steps), stream.first_time or stream.time, stream.control)

    @property
    def is_on_spark(self) -> bool:
        """Whether its inputs are on Spark."""
        return any(stream.is_on_spark for stream in self.streams.values())

    @property
    def has_clock(self) -> bool:
        """Whether one of them has a clock: all that a step brings comes at one."""
        return any(stream.origin.has_clock for stream in self.streams.values())

    @property
    def is_at_hand(self) -> bool:
        """Whether all of them can be read unasked."""
        return all(stream.origin.is_at_hand for stream in self.streams.values())

    @property
    def told_inputs(self) -> list[tuple[str, str | None]]:
        """Its inputs by name."""
        return [
            (name, None if isinstance(stream.origin, StreamWords) else stream.origin_told)
            for name, stream in self.streams.items()
        ]

    def __repr__(self) -> str:
        return f"a union of {', '.join(f'{name} ({stream.origin_told})' for name, stream in self.streams.items())}"


def union(
    *, combine: Literal["least", "greatest"] = "least", idle: DurationLike | None = None, **streams: StreamWords
) -> Stream:
    """Several streams as one: their records have the same columns, and each input has a watermark of its own.

    The least of the watermarks counts, or with `combine="greatest"` the greatest. An input that has brought nothing for
    `idle` of the clock holds the others back no longer. Streams and results can be inputs; a column `input` says of
    each record from which it came.

    >>> import fanlight as fl
    >>> web = fl.stream([{"ts": 1, "n": 2}, {"ts": 70, "n": 1}], time="ts", unit="s")
    >>> shop = fl.stream([{"ts": 5, "n": 3}], time="ts", unit="s")
    >>> sales = fl.union(web=web, shop=shop).window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
    >>> sales.table().column("n").to_pylist()
    [5, 1]
    >>> sales.accounting_by_input["shop"].accepted
    1
    """
    if combine not in ("least", "greatest"):
        raise SpecError(f"union: `combine` ({combine!r}) must be 'least' or 'greatest'.")
    if len(streams) < 2:
        raise SpecError("union: needs at least two streams, each with a name, as in union(web=…, shop=…).")
    inputs = {name: _one_of(name, given) for name, given in streams.items()}
    first, *others = inputs.values()
    for name, other in zip(list(inputs)[1:], others, strict=True):
        for what in ("time", "unit", "tick", "ahead", "changes", "is_on_spark"):
            if getattr(first, what) != getattr(other, what):
                raise SpecError(_differs(next(iter(inputs)), first, name, other, what))
    strategies = tuple((name, one.watermark) for name, one in inputs.items())
    for name, strategy in strategies:
        if isinstance(strategy, Several):
            raise SpecError(f"union: the watermark of {name!r} has several inputs itself. Give it one.")
    together = Several(
        strategies,  # type: ignore[arg-type]  # none of them is Several
        Combine.MIN if combine == "least" else Combine.MAX,
        None if idle is None else Duration.of(idle),
    )
    lateness = max(one.lateness for one in inputs.values())
    return Stream(Union(inputs), first.time, together, first.unit, first.tick, first.ahead, (), lateness, first.changes)


def _one_of(name: str, given: object) -> Stream:
    """One input of a union, as a stream."""
    if not isinstance(given, StreamWords):
        raise SpecError(
            f"union: {name}={type(given).__name__} is no stream. Make one of it, as in {name}=stream(…, time='ts')."
        )
    stream = given.as_stream()
    if isinstance(stream.origin, Union):
        raise SpecError(f"union: {name!r} is a union already. Name its streams here, all in one union.")
    if stream.keys:
        raise SpecError(
            f"union: {name!r} has keys, and what follows the union groups it. Say key_by(…) after union(…)."
        )
    if of_whole_rows(stream, ZERO) is not stream:
        raise SpecError(
            f"union: {name!r} has a where(…) over changes that need not say all of their row. Say where(…) after "
            "union(…): there it sees whole rows."
        )
    return stream


def _differs(one: str, first: Stream, name: str, other: Stream, what: str) -> str:
    if what == "is_on_spark":
        return f"union: {one!r} and {name!r} run on different engines. Read both with Spark, or both in this process."
    sides = f"{getattr(first, what)!r} in {one!r} and {getattr(other, what)!r} in {name!r}"
    remedy = {
        "time": f"Rename one, as in select(…, {first.time}={other.time!r}).",
        "changes": "Let both have changes, or neither: sort() gives the rows that are left.",
    }
    return f"union: `{what}` is {sides}, and one stream has one. {remedy.get(what, 'Give both the same.')}"
