"""A run on the embedded engine, kept as the values a picture needs: arrivals, panes with their firings, moments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.embedded.feed import clock_column, latest
from fanlight.embedded.sources import Records, as_bundle
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.kernels.times import read_times
from fanlight.model.firing import Op, Timing
from fanlight.model.over.spec import OverSpec
from fanlight.model.preparation import Intake
from fanlight.model.recent import RecentSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp, TimestampLike
from fanlight.model.unique import UniqueSpec
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.window import Window
from fanlight.operators.accounting import INPUT
from fanlight.operators.ingest.columns import plain
from fanlight.viz.after_windows import AFTER_WINDOWS, FollowsWindows, Gathered, WindowsAndAfter
from fanlight.viz.merged import is_of
from fanlight.viz.reach import reach_of

Key = tuple[Any, ...]

_PLACE = "fanlight.viz.place"
"""A column that travels with every record, so that a dead letter says exactly which one it was."""


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """What one step of a picture takes in; any of it may be missing. A bundle of records alone is a step too."""

    records: Records | None = None
    watermark: TimestampLike | None = None
    clock: TimestampLike | None = None
    ends: bool = False
    """Whether the input ends with it."""


class Fate(Enum):
    """What became of a record."""

    ACCEPTED = "accepted"
    LATE = "late"  # accepted, after a window that it changed had closed
    DEAD = "dead letter"
    DUPLICATE = "duplicate"  # of a record in whose place another row leaves
    TAKEN_BACK = "taken back by a change"
    DELETE = "delete"  # of what is known of its key, from its time on


@dataclass(frozen=True, slots=True)
class PlayedArrival:
    """One record: the step that brought it, where it lies on the axis (None: nowhere), and what became of it."""

    step: int
    key: Key
    time: Timestamp | None
    row: Mapping[str, Any]
    fate: Fate = Fate.ACCEPTED
    reason: str | None = None
    is_at_end: bool = False  # of the input
    source: str | None = None
    """The input it came from, where each has lines of its own."""

    @property
    def step_name(self) -> str:
        """What the step is called in the picture."""
        return step_name(self.step, self.is_at_end)


@dataclass(frozen=True, slots=True)
class PlayedFiring:
    """One result of a pane: the step it left in, and whether it was taken back later."""

    step: int
    timing: Timing
    values: Mapping[str, Any]
    is_at_end: bool = False  # of the input
    is_taken_back: bool = False

    @property
    def step_name(self) -> str:
        """What the step is called in the picture."""
        return step_name(self.step, self.is_at_end)


@dataclass(slots=True)
class PlayedPane:
    """One (key, window) that fired, with all its firings in order; or what left a step that fires rows, not windows."""

    key: Key
    window: Window
    """Of rows: from the watermark before the step up to the one after it."""
    firings: list[PlayedFiring] = field(default_factory=list)
    is_window: bool = True
    called: str = "window"
    """What its bar is: the window, or how far one row reaches."""
    is_filled: bool = False
    """Whether it is a window in which nothing came."""

    @property
    def is_taken_back(self) -> bool:
        """Whether nothing of it stands: another window took its place."""
        return self.firings[-1].is_taken_back


@dataclass(frozen=True, slots=True)
class Moment:
    """How far time had come after a step."""

    step: int
    watermark: Timestamp
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class Played:
    """A whole run."""

    spec: StreamSpec
    """Of the last stage, where windows and what follows them are shown as one."""
    arrivals: tuple[PlayedArrival, ...]
    panes: tuple[PlayedPane, ...]
    moments: tuple[Moment, ...]
    inputs: tuple[str, ...] = ()
    """Those whose records have lines of their own: of a cogroup."""

    @property
    def keys(self) -> list[Key]:
        """Every key, in the order of first arrival."""
        found = [*(arrival.key for arrival in self.arrivals), *(pane.key for pane in self.panes)]
        return list(dict.fromkeys(found))


def played_of(
    spec: StreamSpec,
    steps: Iterable[TimelineStep | Records],
    *,
    clock: str | None = None,
    schema: pa.Schema | None = None,
    ends: bool = True,
    windows: WindowSpec | None = None,
    intakes: Mapping[str, Intake] | None = None,
    inputs: tuple[str, ...] = (),
) -> Played:
    """Run `steps` through the engine, then the end of the input unless `ends` is false.

    What takes the firings of `windows` apart is run with them as one. `intakes` are those of the records; `inputs`
    are those that have lines of their own.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> spec = WindowSpec(time="ts", window=tumbling("10 us"), aggregates=(("n", count()),))
    >>> [(pane.window.start, pane.firings[-1].values) for pane in played_of(spec, [{"ts": 3}, {"ts": 14}]).panes]
    [(0, {'n': 1}), (10, {'n': 1})]
    """
    run = _Run(spec, clock, schema, windows, intakes, inputs)
    for step in steps:
        run.take(step if isinstance(step, TimelineStep) else TimelineStep(step))
    if ends and not run.has_ended:
        run.take(TimelineStep(ends=True))
    return run.played()


class _Run:
    """The engine at work, and the notes taken of it."""

    def __init__(
        self,
        spec: StreamSpec,
        clock: str | None,
        schema: pa.Schema | None,
        windows: WindowSpec | None,
        intakes: Mapping[str, Intake] | None,
        inputs: tuple[str, ...],
    ) -> None:
        self._last = spec
        self._spec = windows or spec
        self._inputs = inputs
        self._clock = clock
        self._schema = schema
        self._operator: StandaloneOperator[StreamSpec] | WindowsAndAfter = (
            StandaloneOperator(spec) if windows is None else WindowsAndAfter(windows, spec, intakes)
        )
        self._after = FollowsWindows(spec, self._came_in) if isinstance(spec, AFTER_WINDOWS) else None
        self._arrivals: list[PlayedArrival] = []
        self._panes: dict[tuple[Any, ...], PlayedPane] = {}
        self._moments: list[Moment] = []
        self._positions: dict[Key, int] = {}
        self._left: set[int] = set()  # the places of the records that left as rows

    def take(self, step: TimelineStep) -> None:
        """One step."""
        number = len(self._moments) + 1
        batch = None if step.records is None else as_bundle(step.records, self._schema).batch
        if batch is None or not len(batch):
            if not step.ends:
                self._operator.advance(watermark=step.watermark, clock=step.clock)
        else:
            self._schema = self._schema or batch.schema
            clock = step.clock
            if clock is None and self._clock is not None:
                clock = latest(clock_column(batch, self._clock), self._clock, self._spec.unit)
            places = np.arange(len(self._arrivals), len(self._arrivals) + len(batch))
            placed = batch.append_column(_PLACE, pa.array(places))
            before = self._operator.watermark
            self._operator.add(placed, watermark=step.watermark, clock=clock)
            self._note_arrivals(number, batch, before, is_end=step.ends)
        if step.ends:
            self._operator.end()
        self._note_outputs(number, is_end=step.ends)
        self._moments.append(Moment(number, END_OF_TIME if step.ends else self._operator.watermark, step.ends))

    @property
    def has_ended(self) -> bool:
        """Whether a step said that the input ends."""
        return bool(self._moments) and self._moments[-1].is_end

    def played(self) -> Played:
        """What was noted."""
        panes = tuple(sorted(self._panes.values(), key=lambda pane: (pane.window.start, pane.window.end)))
        if isinstance(self._spec, UniqueSpec):
            self._note_duplicates()
        arrivals = tuple(self._with_lateness(arrival, panes) for arrival in self._arrivals)
        return Played(self._last, arrivals, panes, tuple(self._moments), self._inputs)

    def _note_arrivals(self, number: int, batch: pa.RecordBatch, watermark: Timestamp, *, is_end: bool) -> None:
        rows = batch.to_pylist()
        keys = [tuple(row[name] for name in self._spec.keys) for row in rows]
        places = self._places(batch, keys, watermark)
        for row, key, time in zip(rows, keys, places, strict=True):
            source = row.pop(INPUT) if self._inputs else None
            own = {name: row[name] for name in row if source is None or is_of(name, source, self._spec.keys)}
            self._arrivals.append(PlayedArrival(number, key, time, own, is_at_end=is_end, source=source))

    def _places(self, batch: pa.RecordBatch, keys: list[Key], watermark: Timestamp) -> list[Timestamp | None]:
        """Where the records lie on the axis of the windows."""
        kind = self._spec.window if isinstance(self._spec, WindowSpec) else None
        if isinstance(kind, Counting) and kind.by is not None:
            positions: list[Timestamp | None] = batch.column(kind.by).to_pylist()
            return positions
        if self._spec.domain is TimeDomain.ARRIVAL:
            per_key = isinstance(kind, Counting) and kind.per is Scope.KEY
            return [self._next_position(key if per_key else ()) for key in keys]
        if self._spec.domain is TimeDomain.PROCESSING:
            return [max(self._operator.clock, watermark)] * len(batch)
        times, faults = read_times(plain(batch.column(self._spec.time)), self._spec.unit)
        return [None if fault else int(time) for time, fault in zip(times, faults, strict=True)]

    def _next_position(self, key: Key) -> int:
        self._positions[key] = self._positions.get(key, 0) + 1
        return self._positions[key]

    def _note_outputs(self, number: int, *, is_end: bool = False) -> None:
        if not self._operator.is_bound:
            return
        for letter in self._operator.take_dead_letters().to_pylist():
            if letter["record"] is None:
                continue  # of a firing that did not leave, not of a record
            place = letter["record"][_PLACE]
            self._arrivals[place] = replace(self._arrivals[place], fate=Fate.DEAD, reason=letter["reason"])
        spec, left = self._spec, self._operator.take()
        if isinstance(self._operator, WindowsAndAfter) and self._after is not None:
            for one in self._after.read(left, self._operator.fired):
                self._note_gathered(one, number, is_end)
            return
        if not isinstance(spec, WindowSpec):
            self._note_released(left.to_pylist(), number, is_end)
            return
        for row in _rows(left):
            self._note_row(spec, row, number, is_end)

    def _note_released(self, rows: list[dict[str, Any]], number: int, is_end: bool) -> None:
        """Rows without a window lie between the watermarks before and after the step; they say when they came."""
        spec, before = self._spec, self._moments[-1].watermark if self._moments else START_OF_TIME
        window = Window(before, END_OF_TIME if is_end else self._operator.watermark)
        came: dict[Key, list[int]] = {}
        for row in rows:
            key = tuple(row[name] for name in self._spec.keys)
            arrival = self._arrivals[row[_PLACE]]
            self._left.add(row[_PLACE])
            reach = None if arrival.time is None else reach_of(spec, arrival.time)
            if reach is None:
                came.setdefault(key, []).append(arrival.step)
            else:
                self._note_reach((key, reach, row[_PLACE] if isinstance(spec, OverSpec) else None), row, number, is_end)
        for key, steps in came.items():
            firing = PlayedFiring(number, Timing.ON_TIME, {"rows": steps}, is_end)
            self._panes[key, window] = PlayedPane(key, window, [firing], is_window=False)

    def _note_reach(self, place: tuple[Key, Window, Any], row: dict[str, Any], number: int, is_end: bool) -> None:
        """A row that leaves at once has a bar of its own; one that is taken back says in which step."""
        pane = self._panes.setdefault(place, PlayedPane(*place[:2], called="row of"))
        if isinstance(self._spec, OverSpec):
            self._note_values(pane, self._spec, row, number, is_end)
            return
        if isinstance(self._spec, RecentSpec) and row[self._spec.op] in (Op.RETRACT.code, Op.DELETE.code):
            stands = next(at for at, firing in enumerate(pane.firings) if not firing.is_taken_back)
            pane.firings[stands] = replace(
                pane.firings[stands], values={"until step": step_name(number, is_end)}, is_taken_back=True
            )
            return
        pane.firings.append(PlayedFiring(number, Timing.ON_TIME, {}, is_end))

    def _note_values(self, pane: PlayedPane, spec: OverSpec, row: dict[str, Any], number: int, is_end: bool) -> None:
        """What a row shows, in the place of what it has shown before."""
        if pane.firings and row.get(spec.op) != Op.INSERT.code:
            pane.firings[-1] = replace(pane.firings[-1], is_taken_back=True)
        if row.get(spec.op) not in (Op.RETRACT.code, Op.DELETE.code):
            values = {one.name: row[one.name] for one in spec.new_columns}
            pane.firings.append(PlayedFiring(number, Timing.ON_TIME, values, is_end))

    def _note_gathered(self, one: Gathered, number: int, is_end: bool) -> None:
        """What follows windows has taken apart, as a firing of the window."""
        pane = self._panes.setdefault(one.place, PlayedPane(*one.place, is_filled=one.is_filled))
        timing = Timing.ON_TIME
        if not is_end and self._operator.watermark < pane.window.end:
            timing = Timing.EARLY
        elif any(firing.timing is not Timing.EARLY for firing in pane.firings):
            timing = Timing.LATE
        if pane.firings:
            pane.firings[-1] = replace(pane.firings[-1], is_taken_back=True)
        if not one.is_gone:
            pane.firings.append(PlayedFiring(number, timing, one.values, is_end))

    def _came_in(self, row: dict[str, Any]) -> str:
        arrival: PlayedArrival = self._arrivals[row[_PLACE]]
        return arrival.step_name

    def _note_duplicates(self) -> None:
        """Of ids, what has neither left nor become a dead letter is repeated by a row that left."""
        for place, arrival in enumerate(self._arrivals):
            if place not in self._left and arrival.fate is Fate.ACCEPTED and self.has_ended:
                self._arrivals[place] = replace(arrival, fate=Fate.DUPLICATE)

    def _note_row(self, spec: WindowSpec, row: dict[str, Any], number: int, is_end: bool) -> None:
        key = tuple(row[name] for name in spec.keys)
        window: Window = row["window"]
        pane = self._panes.setdefault((key, window), PlayedPane(key, window))
        if row["pane"]["op"] in (Op.RETRACT.code, Op.DELETE.code):
            pane.firings[-1] = replace(pane.firings[-1], is_taken_back=True)
            return
        values = {name: row[name] for name, _ in spec.aggregates}
        pane.firings.append(PlayedFiring(number, Timing[row["pane"]["timing"]], values, is_end))

    def _with_lateness(self, arrival: PlayedArrival, panes: tuple[PlayedPane, ...]) -> PlayedArrival:
        """Say that a record was late if a pane it lies in had closed before it came, and fired again after."""
        time, spec = arrival.time, self._spec
        if arrival.fate is Fate.DEAD or time is None or not isinstance(spec, WindowSpec):
            return arrival
        watermark = self._moments[arrival.step - 2].watermark if arrival.step > 1 else START_OF_TIME
        past_end = 1 if spec.semantics.closes_after_end else 0
        is_late = any(
            pane.key == arrival.key
            and pane.window.start <= time < pane.window.end
            and watermark >= pane.window.end + past_end
            and any(firing.step >= arrival.step and firing.timing is Timing.LATE for firing in pane.firings)
            for pane in panes
        )
        return replace(arrival, fate=Fate.LATE) if is_late else arrival


def step_name(step: int, is_at_end: bool) -> str:
    """What a step is called in a picture."""
    return "end" if is_at_end else str(step)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a result, with windows as values; a null end is an end of time."""
    window = table.column("window").combine_chunks()
    starts, ends = (window.field(name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    rows: list[dict[str, Any]] = table.drop_columns(["window"]).to_pylist()
    for row, start, end in zip(rows, starts, ends, strict=True):
        row["window"] = Window(START_OF_TIME if start is None else start, END_OF_TIME if end is None else end)
    return rows
