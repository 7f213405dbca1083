"""Running a pipeline in this process, from its source to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from fanlight.embedded.kept import KeptLetters
from fanlight.embedded.sources import Source, bundles
from fanlight.embedded.standalone import WindowOperator
from fanlight.errors import InputError, SpecError
from fanlight.kernels.times import read_times
from fanlight.model.spec import TimeUnit, WindowSpec
from fanlight.model.timestamp import Timestamp, TimestampLike
from fanlight.operators.accounting import Accounting
from fanlight.operators.conforming import fitting
from fanlight.operators.plan import plain, require_column
from fanlight.operators.stages import next_records

Clock = str | Callable[[], TimestampLike]
"""Where processing time comes from: a column of arrival times, or the caller's clock. Never from an operator."""

LettersHeard = Callable[[pa.Table], object]
"""Is given the dead letters of a step that has any."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """What one step of a run gave, and how far it came."""

    fired: list[pa.RecordBatch]
    watermark: Timestamp
    clock: Timestamp


class EmbeddedRun:
    """One run of a spec over a source, or over the run of the stage before. Each batch of the source is one bundle."""

    def __init__(
        self,
        spec: WindowSpec,
        source: Source | EmbeddedRun,
        *,
        clock: Clock | None = None,
        rows: int | None = None,
        schema: pa.Schema | None = None,
        strict: bool = False,
    ) -> None:
        self._spec = spec
        self._source = source
        self._clock = clock
        self._rows = rows
        self._schema = schema
        self._operator = WindowOperator(spec, schema=schema, strict=strict)
        self._arrivals: pa.Field | None = None
        self._table: pa.Table | None = None
        self.letters = KeptLetters()
        self._hears_letters: LettersHeard | None = None
        self._started = False
        self._finished = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The firings, batch by batch, as the source is read; of the dead letters the newest are kept."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        for step in self.steps(bounded=True):
            yield from step.fired

    def steps(self, *, bounded: bool = False) -> Iterator[Stepped]:
        """The steps, as the source is read; the last one is its end. `bounded` keeps only the newest dead letters."""
        if self._started:
            raise InputError("This pipeline has been read already. Use table(), or declare it again over a new source.")
        self._started = True
        if isinstance(self._source, EmbeddedRun):
            yield from self._after(self._source, bounded=bounded)
        else:
            source, remarks = self._source, self._operator.remarks
            for came in bundles(source, rows=self._rows, schema=self._schema, remarks=remarks):
                self._operator.add(came, clock=self._now(came.batch))
                yield self._stepped(bounded)
        self._operator.end()
        yield self._stepped(bounded)
        self._finished = True

    def _after(self, before: EmbeddedRun, *, bounded: bool) -> Iterator[Stepped]:
        """Take what the stage before fires, step by step, and act on its watermark."""
        for step in before.steps(bounded=bounded):
            records = [next_records(batch) for batch in step.fired if len(batch)]
            if records:
                self._operator.add(pa.concat_batches(records), watermark=step.watermark, clock=step.clock)
            else:
                self._operator.advance(watermark=step.watermark, clock=step.clock)
            yield self._stepped(bounded)

    def finish(self) -> None:
        """Read the source to its end, unless somebody iterates over it: then all that is known is what has come."""
        if not self._started:
            self.table()

    def table(self) -> pa.Table:
        """All firings. Reads the source to its end the first time."""
        if self._table is None:
            fired = [batch for step in self.steps() for batch in step.fired]
            self._table = pa.Table.from_batches(fired) if fired else self._operator.results()
        return self._table

    def hand_on_letters(self, function: LettersHeard) -> None:
        """Give the dead letters of each step to `function` instead of keeping them."""
        if self._started:
            raise InputError(
                "on_dead_letters: this pipeline has been read already. Say it before the first row is read."
            )
        self._hears_letters = function

    def dead_letters(self) -> pa.Table:
        """The records that could not be used, as far as they are kept."""
        if self._hears_letters is not None:
            raise SpecError("dead_letters: they are handed to the function of on_dead_letters, and none is kept here.")
        return self.letters.table()

    @property
    def accounting(self) -> Accounting:
        """Where every record went."""
        return self._operator.accounting

    def _stepped(self, bounded: bool) -> Stepped:
        letters = self._operator.take_dead_letters() if self._operator.is_bound else pa.table({})
        if self._hears_letters is None:
            self.letters.add(letters, bounded=bounded)
        elif len(letters):
            self._hears_letters(letters)
        return Stepped(self._operator.take().to_batches(), self._operator.watermark, self._operator.clock)

    def _now(self, batch: pa.RecordBatch) -> TimestampLike | None:
        if self._clock is None:
            return None
        if callable(self._clock):
            return self._clock()
        arrivals = clock_column(batch, self._clock)
        if self._arrivals is None or pa.types.is_null(self._arrivals.type):
            self._arrivals = pa.field(self._clock, arrivals.type)
        return latest(fitting(arrivals, self._arrivals), self._clock, self._spec.unit)


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
