"""What feeds a run in this process, step by step: a source, the stage before, or several of these at once.

source ──► bundles ─┐
stage  ──► rows, watermark, clock ─┼─► arrivals of one step ──► operator
union  ──► one of each input, in turn ─┘
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import pyarrow as pa

from fanlight.embedded.one_bundle import comes_in_bundles
from fanlight.embedded.sources import Source, bundles
from fanlight.embedded.time_cut import TimeCut, cut_by_time
from fanlight.errors import InputError
from fanlight.kernels.times import read_times
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp, TimestampLike
from fanlight.model.time.unit import TimeUnit
from fanlight.operators.handover import Handover
from fanlight.operators.ingest.columns import plain, require_column
from fanlight.operators.ingest.conform import CheckedBatch, fitting
from fanlight.operators.ingest.inputs import Arrival, Said
from fanlight.operators.ingest.remarks import Remarks

Clock = str | Callable[[], TimestampLike]
"""Where processing time comes from: a column of arrival times, or the caller's clock. Never from an operator."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """The output of one step of a run, and the watermark and clock it reached."""

    fired: list[pa.RecordBatch]
    watermark: Timestamp
    clock: Timestamp
    ends: bool = False
    """Whether the input ended with it."""
    columns: pa.Schema | None = None
    """Those of its rows; None while they are not known."""


class Brought(NamedTuple):
    """What the inputs of an operator bring to one step."""

    arrivals: list[Arrival]
    ends: bool = False
    """Whether all of them have ended with it: then it goes with the end, as one step to the next stage."""


class StageRun(Protocol):
    """A run whose results feed another."""

    spec: StreamSpec
    followed_by: StageRun | None
    """The run that reads it."""

    def finish(self) -> None:
        """Read everything to its end."""

    def steps(self, *, bounded: bool = False) -> Iterator[Stepped]:
        """The steps of the run."""


class Feed(Protocol):
    """What comes to an operator, step by step."""

    @property
    def runs(self) -> tuple[StageRun, ...]:
        """The runs of the stages before."""

    @property
    def is_one_bundle(self) -> bool:
        """Whether all records come at once because nobody said how to cut them."""

    def steps(self, remarks: Remarks | None, *, bounded: bool) -> Iterator[Brought]:
        """What each step brings. `bounded` keeps only the newest dead letters of stages before."""

    def again(self, runs: Mapping[StageRun, StageRun]) -> Feed:
        """The same, from the start, over other runs of the stages before."""


@dataclass(slots=True)
class Reads:
    """Whether a source was read before; shared by all runs over it. One is gone afterwards, as an iterator is."""

    begun: bool = False

    def begin(self, source: Source) -> None:
        """Refuse to read again what is gone."""
        if self.begun and isinstance(source, Iterator | pa.RecordBatchReader):
            raise InputError(
                "This source can be read once, and has been. Declare the pipeline over a new one, or over a table, "
                "which can be read again."
            )
        self.begun = True


@dataclass(frozen=True, slots=True)
class SourceFeed:
    """A source of records. Each of its batches is one bundle."""

    source: Source
    clock: Clock | None = None
    rows: int | None = None
    schema: pa.Schema | None = None
    unit: TimeUnit | None = None
    reads: Reads = field(default_factory=Reads)
    cut: TimeCut | None = None

    @property
    def runs(self) -> tuple[StageRun, ...]:
        """None."""
        return ()

    @property
    def is_one_bundle(self) -> bool:
        """Whether it is one, and nobody asked for more."""
        return self.rows is None and self.cut is None and not comes_in_bundles(self.source)

    def steps(self, remarks: Remarks | None, *, bounded: bool) -> Iterator[Brought]:
        """The bundles of the source."""
        self.reads.begin(self.source)
        arrived: pa.Field | None = None
        read = bundles(self.source, rows=self.rows, schema=self.schema, remarks=remarks)
        for came in read if self.cut is None else cut_by_time(read, self.cut, self.unit):
            now = None
            if callable(self.clock):
                now = self.clock()
            elif self.clock is not None:
                column = clock_column(came.batch, self.clock)
                if arrived is None or pa.types.is_null(arrived.type):
                    arrived = pa.field(self.clock, column.type)
                now = latest(fitting(column, arrived), self.clock, self.unit)
            yield Brought([Arrival(came, Said(clock=now))])

    def again(self, runs: Mapping[StageRun, StageRun]) -> SourceFeed:
        """The same source; one that can be read once will say so."""
        return self


@dataclass(frozen=True, slots=True)
class StageFeed:
    """The stage before: its rows as records, and the watermark that it hands on."""

    run: StageRun
    handover: Handover
    tells_columns: bool = False
    """Whether its first step says the columns of its rows, also where it has none: another input knows nothing of them.
    """

    @property
    def runs(self) -> tuple[StageRun, ...]:
        """The one before."""
        return (self.run,)

    @property
    def is_one_bundle(self) -> bool:
        """The stage before says when its rows come."""
        return False

    def steps(self, remarks: Remarks | None, *, bounded: bool) -> Iterator[Brought]:
        """The steps of the stage before. What leaves it at the end is one bundle, with what its last step left."""
        told = not self.tells_columns
        for step in self.run.steps(bounded=bounded):
            came = self.handover.bundle(step.fired)
            if came is None and not told and step.columns is not None:
                came = CheckedBatch(pa.RecordBatch.from_pylist([], schema=self.handover.schema(step.columns)))
            told = told or came is not None
            watermark = END_OF_TIME if step.ends else self.run.spec.hands_on(step.watermark)
            yield Brought([Arrival(came, Said(watermark=watermark, clock=step.clock))], step.ends)

    def again(self, runs: Mapping[StageRun, StageRun]) -> StageFeed:
        """The stage before, in a run of its own."""
        return replace(self, run=runs[self.run])


@dataclass(frozen=True, slots=True)
class UnionFeed:
    """Several inputs: a step has one bundle of each, in the order they are named, until all have ended.

    An input that has ended holds the others back no longer.
    """

    feeds: Mapping[str, Feed]
    releases: bool = True
    """Whether the end of an input moves its watermark to the end of time: where the least of all counts."""

    @property
    def runs(self) -> tuple[StageRun, ...]:
        """Those of all inputs."""
        return tuple(run for feed in self.feeds.values() for run in feed.runs)

    @property
    def is_one_bundle(self) -> bool:
        """Whether each of them is."""
        return all(feed.is_one_bundle for feed in self.feeds.values())

    def steps(self, remarks: Remarks | None, *, bounded: bool) -> Iterator[Brought]:
        """What the inputs bring to each step."""
        running = {name: iter(feed.steps(remarks, bounded=bounded)) for name, feed in self.feeds.items()}
        while running:
            arrivals: list[Arrival] = []
            for name in list(running):
                brought = next(running[name], None)
                arrivals += [] if brought is None else self._named(name, brought)
                if brought is None or brought.ends:
                    del running[name]
                if brought is None and self.releases:
                    arrivals.append(Arrival(None, Said(name, END_OF_TIME)))
            if running or any(one.came is not None for one in arrivals):
                yield Brought(arrivals, ends=not running)

    def _named(self, name: str, brought: Brought) -> list[Arrival]:
        """What the input `name` brings; where the end of one releases nothing, it says no watermark with it."""
        keeps = brought.ends and not self.releases
        said = [
            replace(one.said, source=name, watermark=None if keeps else one.said.watermark) for one in brought.arrivals
        ]
        return [one._replace(said=each) for one, each in zip(brought.arrivals, said, strict=True)]

    def again(self, runs: Mapping[StageRun, StageRun]) -> UnionFeed:
        """All inputs from the start."""
        return replace(self, feeds={name: feed.again(runs) for name, feed in self.feeds.items()})


def clock_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """The column that has the arrival times of records."""
    require_column(batch.schema, name)
    return plain(batch.column(name))


def latest(column: pa.Array, name: str, unit: TimeUnit | None) -> Timestamp | None:
    """The greatest time of the clock column `name`; None if it has none. Whole numbers in it count `unit`."""
    if not (pa.types.is_timestamp(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise InputError(
            f"stream: the clock column {name!r} is {column.type}. Use a timestamp, or whole numbers in `unit`."
        )
    times, faults = read_times(column, unit, f"the clock column {name!r}")
    known = times[faults == 0]
    return int(known.max()) if len(known) else None
