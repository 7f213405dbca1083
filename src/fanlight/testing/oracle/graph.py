"""A pipeline of several stages, read slowly from the law: every stage has an oracle of its own, and hands on its rows.

    step ─► stage 1 ─ rows, flat ─► stage 2 ─ rows, flat ─► … ─► rows of the last
                └ the watermark handed on ┘

Its words are those of *Stages* in `docs/semantics.md`: what a firing becomes as a record, which watermark is handed on,
what the next stage calls late, and how the end comes to each stage. A stage may have a condition (`where`): what it
leaves out is counted, and moves the watermark as it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, Protocol

from fanlight.errors import SpecError
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.preparation import WholeRow
from fanlight.model.semantics import Closing
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several
from fanlight.model.triggers import AtExpiry, AtWatermark, Never
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.oracle.sort import SortOracle
from fanlight.testing.oracle.window_aggregate import Oracle
from fanlight.testing.script import Condition, Counts, DeadLetter, Firing, Record, Step

Prepared = Condition | WholeRow
"""What is done to the records of a stage first: some are left out, or each is also there as a whole."""

Row = Firing | Record
"""What leaves a stage: a firing of windows, or a row as it came."""


@dataclass(frozen=True, slots=True)
class StageOutcome:
    """What one step gave in one stage."""

    rows: tuple[Row, ...] = ()
    dead_letters: tuple[DeadLetter, ...] = ()
    counts: Counts = field(default_factory=Counts)

    def __add__(self, other: StageOutcome) -> StageOutcome:
        return StageOutcome(
            (*self.rows, *other.rows), (*self.dead_letters, *other.dead_letters), self.counts + other.counts
        )


GraphOutcome = tuple[StageOutcome, ...]
"""What one step gave, stage by stage."""


class StageOracle(Protocol):
    """One stage, read slowly."""

    def step(self, step: Step) -> StageOutcome:
        """Take one step."""

    @property
    def clock(self) -> int:
        """The clock it has reached."""

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """Its rows as records of the next stage."""

    def hands_on(self) -> int:
        """The watermark of its rows, once a step is done."""


def run_graph(
    specs: Sequence[StreamSpec], steps: Sequence[Step], conditions: Sequence[Prepared | None] = ()
) -> list[GraphOutcome]:
    """What the law says comes out of every stage when `steps` go into the first.

    `conditions` are those of the stages, in order; where the first has several inputs, `steps` are those of
    `union_steps`, which say their watermark.

    >>> from fanlight.model.aggregates import count, max
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> first = WindowSpec("ts", tumbling("5 us"), (("n", count()),), keys=("k",), watermark=Explicit())
    >>> then = WindowSpec("window_time", tumbling("10 us"), (("most", max("n")),), watermark=Explicit())
    >>> steps = [Step(records=({"ts": 3, "k": 1}, {"ts": 4, "k": 1}, {"ts": 7, "k": 1})), Step(end=True)]
    >>> [row.values for row in run_graph([first, then], steps)[-1][-1].rows]
    [{'most': 2}]
    """
    graph = GraphOracle(specs, conditions)
    return [graph.step(step) for step in steps]


class GraphOracle:
    """The stages of one run; `step` takes all of them further."""

    def __init__(self, specs: Sequence[StreamSpec], conditions: Sequence[Prepared | None] = ()) -> None:
        first: Any = specs[0]
        told = replace(first, watermark=Explicit()) if isinstance(first.watermark, Several) else first
        self.specs = (told, *specs[1:])
        self.stages = [stage_oracle(spec) for spec in self.specs]
        self.conditions = [*conditions, *[None] * (len(specs) - len(conditions))]

    def step(self, step: Step) -> GraphOutcome:
        """One step of every stage, in order. At the end each gets what leaves then, the last watermark, and its end."""
        outcomes = [self._taken(0, step)]
        for place, before in enumerate(self.stages[:-1], start=1):
            records = before.records(outcomes[-1].rows)
            watermark = END_OF_TIME if step.end else before.hands_on()
            found = self._taken(place, Step(records=records, watermark=watermark, clock=before.clock))
            outcomes.append(found + self.stages[place].step(Step(end=True)) if step.end else found)
        return tuple(outcomes)

    def _taken(self, place: int, step: Step) -> StageOutcome:
        """The step of one stage, without the records that its condition leaves out."""
        condition, stage = self.conditions[place], self.stages[place]
        if condition is None:
            return stage.step(step)
        if isinstance(condition, WholeRow):
            return _as_they_came(condition, stage.step(replace(step, records=_whole(condition, step.records))))
        kept = tuple(record for record in step.records if condition.holds(record))
        left_out = [record for record in step.records if not condition.holds(record)]
        said = [one for one in (step.watermark, self._followed(place, left_out)) if one is not None]
        found = stage.step(replace(step, records=kept, watermark=max(said, default=None)))
        return found + StageOutcome(counts=Counts(records_in=len(left_out), filtered=len(left_out)))

    def _followed(self, place: int, left_out: Sequence[Record]) -> int | None:
        """How far the watermark of a stage follows records that were left out."""
        spec = self.specs[place]
        times = [time for record in left_out if (time := record[spec.time]) is not None and EARLIEST <= time <= LATEST]
        return (
            max(times) - spec.watermark.delay.micros if times and isinstance(spec.watermark, BoundedDisorder) else None
        )


def _whole(said: WholeRow, records: Sequence[Record]) -> tuple[Record, ...]:
    """Records with what a stage goes by, and beside it the whole of each."""
    found = []
    for record in records:
        whole = {name: value for name, value in record.items() if name not in said.without}
        found.append({**{name: record[name] for name in said.keeps or record}, said.name: whole})
    return tuple(found)


def _as_they_came(said: WholeRow, outcome: StageOutcome) -> StageOutcome:
    """The outcome, of which dead letters show records as they came."""
    letters = [
        (reason, {**record[said.name], **{name: record[name] for name in said.without}})
        for reason, record in outcome.dead_letters
    ]
    return replace(outcome, dead_letters=tuple(letters))


@singledispatch
def stage_oracle(spec: StreamSpec) -> StageOracle:
    """The oracle of one stage; one of your own is registered by `stage_oracle.register`."""
    name = type(spec).__name__
    raise SpecError(f"oracle: {name} is no stage it knows. Register it: stage_oracle.register({name}, …).")


class WindowStage:
    """Windows as a stage."""

    def __init__(self, spec: WindowSpec) -> None:
        self.spec = spec
        self.oracle = Oracle(spec)

    @property
    def clock(self) -> int:
        """The clock it has reached."""
        return self.oracle.time.clock

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are firings."""
        outcome = self.oracle.step(step)
        return StageOutcome(outcome.firings, outcome.dead_letters, outcome.counts)

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """Firings, flat: keys, values, the window and the time; the operation where firings replace each other."""
        return tuple(self._flat(row) for row in rows if isinstance(row, Firing))

    def hands_on(self) -> int:
        """The watermark of its firings: none that is on time will be below it."""
        watermark, spec = self.oracle.time.reach.watermark, self.spec
        if _waits(spec) and spec.lateness.is_forever:
            return START_OF_TIME
        if watermark in (START_OF_TIME, END_OF_TIME):
            return watermark
        strictly = spec.semantics.expires_after_horizon if _waits(spec) else spec.semantics.closes_after_end
        if isinstance(spec.window, Session):
            strictly = strictly or spec.semantics.session_end_is_inclusive
        less = spec.tick.micros - 1 + strictly
        if _waits(spec):
            less += spec.lateness.micros
        if spec.firing_time is not FiringTime.END:
            less += _length(spec)
        return max(watermark - less, START_OF_TIME)

    def _flat(self, firing: Firing) -> Record:
        own = {**dict(zip(self.spec.keys, firing.key, strict=True)), **firing.values}
        stamped = self.spec.firing_time is not FiringTime.END
        time = firing.time if stamped else firing.window.end - self.spec.tick.micros
        bounds = {"window_start": firing.window.start, "window_end": firing.window.end, "window_time": time}
        return {**own, **bounds, **({"op": firing.op.code} if _replaces(self.spec) else {})}


class SortStage:
    """Rows in order as a stage: they are records as they are."""

    def __init__(self, spec: SortSpec) -> None:
        assert isinstance(spec.watermark, Explicit | BoundedDisorder)
        ahead = None if spec.ahead is None else spec.ahead.micros
        self.oracle = SortOracle(spec.time, spec.ties, spec.watermark, ahead, spec.changes)

    @property
    def clock(self) -> int:
        """The clock it has reached."""
        return self.oracle.clock

    def step(self, step: Step) -> StageOutcome:
        """Take one step; the rows are those that are complete."""
        outcome = self.oracle.step(step)
        counts = Counts(outcome.records_in, outcome.accepted, dead_letters=len(outcome.dead_letters))
        return StageOutcome(outcome.rows, outcome.dead_letters, counts)

    def records(self, rows: Sequence[Row]) -> tuple[Record, ...]:
        """The rows."""
        return tuple(row for row in rows if not isinstance(row, Firing))

    def hands_on(self) -> int:
        """The watermark itself: every row below it has left."""
        return self.oracle.watermark


stage_oracle.register(WindowSpec, WindowStage)
stage_oracle.register(SortSpec, SortStage)


def as_input(before: StreamSpec) -> dict[str, Any]:
    """What the law says of a stage that follows: the fields of its spec that the results of `before` decide.

    >>> as_input(SortSpec("ts"))["time"]
    'ts'
    """
    said: dict[str, Any] = {"time": before.time, "unit": before.unit, "tick": Duration(1), "lateness": Duration(0)}
    if isinstance(before, WindowSpec):
        said = {"time": "window_time", "unit": None, "tick": before.tick, "lateness": _corrected_for(before)}
    return {**said, "watermark": Explicit()}


def _corrected_for(spec: WindowSpec) -> Duration:
    """How long a stage corrects its results: the lateness of the next, unless another is said."""
    if _fires_once(spec) or spec.lateness.is_forever:
        return Duration(0) if _fires_once(spec) else spec.lateness
    between = spec.semantics.expires_after_horizon and not spec.semantics.closes_after_end
    if isinstance(spec.window, Session):
        between = between and not spec.semantics.session_end_is_inclusive
    return Duration(spec.lateness.micros + between)


def _waits(spec: WindowSpec) -> bool:
    """Whether windows fire when they expire."""
    return isinstance(spec.trigger, AtExpiry | Never)


def _fires_once(spec: WindowSpec) -> bool:
    """Whether a pane fires once at most, with nothing to correct."""
    if spec.semantics.closing is Closing.ALWAYS:
        return False
    if _waits(spec):
        return isinstance(spec.trigger, AtExpiry) or spec.semantics.closing is Closing.IF_NEW
    closes, expires = spec.semantics.closes_after_end, spec.semantics.expires_after_horizon
    if isinstance(spec.window, Session) and spec.semantics.session_end_is_inclusive:
        closes = expires = True
    at_once = isinstance(spec.trigger, AtWatermark) and spec.trigger.early is None
    return at_once and spec.lateness.micros == 0 and closes == expires


def _replaces(spec: WindowSpec) -> bool:
    """Whether a firing takes the place of an earlier one of its pane."""
    return not _fires_once(spec) and spec.accumulation is not Accumulation.DISCARDING


def _length(spec: WindowSpec) -> int:
    """How long a window is at most."""
    match spec.window:
        case Tumbling(size=size) | Hopping(size=size) | Cumulating(size=size):
            return size.micros
        case Sliding(difference=difference):
            return difference.micros + 1
    raise SpecError(f"oracle: {spec.window!r} has no greatest length, so what is stamped with a record has no time.")
