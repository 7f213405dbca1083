"""A rehearsal of a pipeline: you play its source, its watermark and its clock, and say what you expect of it.

    run = rehearse(totals, day="2026-03-01")
    run.send({"ts": "12:00:10", "shop": "a"}).expect()                       nothing leaves yet
    run.watermark("12:01").expect({"shop": "a", "window_end": "12:01", "n": 1})
    run.send({"ts": "12:00:20", "shop": "a"}).expect_dead_letters({"reason": "expired"})

It is what Beam's TestStream and Kafka's TopologyTestDriver are. Every call is a step, and takes no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Protocol, Self

import pyarrow as pa

from fanlight.embedded.run import EmbeddedRun
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.errors import SpecError
from fanlight.kernels.flat import flat
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, TimestampLike
from fanlight.operators.accounting import Accounting
from fanlight.operators.handover import Handover
from fanlight.testing.readable_diff import difference

_OF_DAY = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
"""A time of day: 12:00, 12:00:05, 12:00:05.250."""


class RehearsedStage(Protocol):
    """One stage of a pipeline in this process, such as the result of `agg` or of `sort`."""

    @property
    def spec(self) -> StreamSpec: ...

    @property
    def befores(self) -> Sequence[RehearsedStage]: ...

    @property
    def stages(self) -> Sequence[RehearsedStage]: ...

    def embedded_run(self) -> EmbeddedRun: ...


def rehearse(pipeline: RehearsedStage, *, day: str | date = "2026-01-01") -> Rehearsal:
    """Begin a rehearsal of a pipeline; its own source is not read. Times of day, as in "12:00:05", are of `day`, UTC.

    >>> import fanlight as fl
    >>> shops = fl.stream([], time="ts", delay="5 s").key_by("shop")
    >>> counts = shops.window(fl.tumbling("1 minute"), lateness="1 minute").agg(n=fl.count())
    >>> run = rehearse(counts)
    >>> run = run.send({"ts": "12:00:10", "shop": "a"}, {"ts": "12:00:50", "shop": "a"}).expect()
    >>> run = run.watermark("12:01").expect({"shop": "a", "window_start": "12:00", "n": 2, "pane_timing": "ON_TIME"})
    >>> run = run.send({"ts": "12:00:20", "shop": "a"}).expect({"n": 3, "pane_timing": "LATE"})
    >>> run.end().expect({"n": 4})
    Traceback (most recent call last):
    ...
    AssertionError: rows: expected 1, came 0
      - n=4
    """
    return Rehearsal(pipeline, date.fromisoformat(day) if isinstance(day, str) else day)


class Rehearsal:
    """A pipeline whose source, watermark and clock are played by a test; each method returns it, for the next.

    >>> import fanlight as fl
    >>> run = rehearse(fl.stream([], time="ts").sort())
    >>> run.send({"ts": "12:00:10"}).send({"ts": "12:00:05"}).expect_dead_letters({"reason": "expired"}).rows
    []
    """

    def __init__(self, pipeline: RehearsedStage, day: date) -> None:
        stages = pipeline.stages
        if any(len(stage.befores) > 1 for stage in stages):
            raise SpecError("rehearse: a stage reads several results. Rehearse each of them, and what follows, apart.")
        self._day = day
        self._specs = [stage.spec for stage in stages]
        self._intakes = [stage.embedded_run().intakes for stage in stages]
        pairs = zip(self._specs, self._intakes, strict=True)
        self._operators = [StandaloneOperator(spec, intakes=intakes) for spec, intakes in pairs]
        self._clock: datetime | TimestampLike | None = None
        self._rows: list[dict[str, Any]] = []
        self._letters: list[dict[str, Any]] = []

    def at(self, clock: TimestampLike) -> Self:
        """Move the clock, which fires what is due by it."""
        self._clock = self._moment(clock)
        self._operators[0].advance(clock=self._clock)
        return self._handed_on()

    def send(self, *records: Mapping[str, Any], to: str | None = None) -> Self:
        """Bring these records, as one bundle; `to` names the input, where there are several."""
        read = [{name: self._value(value) for name, value in record.items()} for record in records]
        self._operators[0].add(read, source=to, clock=self._clock)
        return self._handed_on()

    def watermark(self, time: TimestampLike, to: str | None = None) -> Self:
        """Say that no record before `time` is expected any more; of the input `to`, where there are several."""
        self._operators[0].advance(watermark=self._moment(time), source=to)
        return self._handed_on()

    def signal(self, on: bool = True) -> Self:
        """Turn the caller's signal on or off, for triggers that wait for it."""
        self._operators[0].advance(signal=on)
        return self._handed_on()

    def end(self) -> Self:
        """End the input: every open window fires."""
        self._operators[0].end()
        return self._handed_on(ends=True)

    def restart(self) -> Self:
        """Go on from a snapshot in a new process, as it were: a test that passes without must pass with it."""
        parts = zip(self._specs, self._intakes, self._operators, strict=True)
        self._operators = [
            StandaloneOperator.restore(spec, operator.snapshot(), intakes=intakes) if operator.is_bound else operator
            for spec, intakes, operator in parts
        ]
        return self

    def expect(self, *rows: Mapping[str, Any]) -> Self:
        """Assert that exactly these rows have left since the last time, in this order; none, without any.

        A row names the columns that count: flat ones, as in `window_start` and `pane_timing`. A time is a datetime, or
        a time of day.
        """
        self._require(rows, self._rows, "rows")
        self._rows = []
        return self

    def expect_dead_letters(self, *letters: Mapping[str, Any]) -> Self:
        """Assert that exactly these records could not be used since the last time, in this order.

        A letter has its `reason`, `watermark`, `detail`, and the fields of its record: `record_shop`.
        """
        self._require(letters, self._letters, "dead letters")
        self._letters = []
        return self

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that have left and nobody has expected yet."""
        return list(self._rows)

    @property
    def accounting(self) -> Accounting:
        """Where every record of the first stage went so far."""
        return self._operators[0].accounting

    def _require(self, expected: Iterable[Mapping[str, Any]], came: list[dict[str, Any]], what: str) -> None:
        read = [{name: self._value(value) for name, value in row.items()} for row in expected]
        told = difference(read, came, what)
        if told is not None:
            raise AssertionError(told)

    def _handed_on(self, *, ends: bool = False) -> Self:
        """Pass what left each stage to the next, with the watermark it hands on, and keep what left the last."""
        last = len(self._operators) - 1
        for place, operator in enumerate(self._operators):
            if not operator.is_bound:
                return self
            self._letters += flat(operator.take_dead_letters()).to_pylist()
            left = operator.take()
            if place == last:
                self._rows += flat(left.drop_columns(list(self._specs[place].hidden))).to_pylist()
            else:
                self._pass(place, left, ends=ends)
        return self

    def _pass(self, place: int, left: pa.Table, *, ends: bool) -> None:
        spec, following, operator = self._specs[place], self._operators[place + 1], self._operators[place]
        handover = Handover.of(spec, following.spec)
        records = [handover.records(batch) for batch in left.to_batches() if len(batch)]
        watermark = END_OF_TIME if ends else spec.hands_on(operator.watermark)
        clock = None if operator.clock == START_OF_TIME else operator.clock
        if records:
            following.add(pa.concat_batches(records), watermark=watermark, clock=clock)
        elif following.is_bound:
            following.advance(watermark=watermark, clock=clock)
        if ends and following.is_bound:
            following.end()

    def _value(self, value: Any) -> Any:
        """A value as a test writes it: a time of day is one of the rehearsal's day."""
        if isinstance(value, str) and _OF_DAY.fullmatch(value):
            return datetime.combine(self._day, time.fromisoformat(value), UTC)
        return value

    def _moment(self, said: TimestampLike) -> TimestampLike:
        moment: TimestampLike = self._value(said)
        return moment
