"""A join's own run, kept as the values a picture needs: records of both sides, joined rows, watermarks.

Nothing is matched here: a joined row says itself of which records it is, because their numbers travel through the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.embedded.run import EmbeddedRun
from fanlight.model.continuation import OP
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.sides import TIME
from fanlight.model.join.spec import JoinSpec
from fanlight.model.join.window import WINDOW, WindowJoinSpec
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, START_OF_TIME, Timestamp
from fanlight.model.windows.window import Window
from fanlight.operators.ingest.bundle import TimeReader
from fanlight.operators.ingest.inputs import Arrival
from fanlight.operators.ingest.prepare import Gate
from fanlight.viz.joins.numbered import MATCHES, NUMBER, TAKES_BACK, Numbering, numbered_intakes, with_matches
from fanlight.viz.played import Fate, Key, PlayedArrival, step_name


@dataclass(frozen=True, slots=True)
class JoinedRow:
    """A row that left: of which records it is, by their numbers, and in which step."""

    key: Key
    left: int | None
    rights: tuple[int, ...]
    """Its right record; of a row of aggregates, all that it is made of."""
    step: str
    values: Mapping[str, Any]
    """What was computed of its matches, if something was."""
    window: Window | None = None
    until: str | None = None
    """The step in which it was taken back."""


class SidesMoment(NamedTuple):
    """How far each side had come after a step."""

    step: int
    watermarks: Mapping[str, Timestamp]
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class PlayedJoin:
    """A whole run of a join."""

    spec: JoinSpec
    arrivals: Mapping[int, PlayedArrival]
    """By their numbers; the source of each is its side."""
    rows: tuple[JoinedRow, ...]
    moments: tuple[SidesMoment, ...]

    @property
    def keys(self) -> list[Key]:
        """Every key, in the order of first arrival."""
        return list(dict.fromkeys(arrival.key for arrival in self.arrivals.values()))


def played_join(run: EmbeddedRun) -> PlayedJoin:
    """The run of a join, from the start of its sources to their end."""
    spec = run.spec
    assert isinstance(spec, JoinSpec)
    notes = _Notes(spec, run)
    for brought in run.brought():
        notes.take(list(notes.numbering.of(brought, len(notes.moments) + 1)), ends=brought.ends)
    if not notes.moments or not notes.moments[-1].is_end:
        notes.take([], ends=True)
    return PlayedJoin(spec, notes.arrivals, tuple(notes.rows), tuple(notes.moments))


@dataclass(slots=True)
class _Notes:
    """The join at work, and the notes taken of it."""

    spec: JoinSpec
    run: EmbeddedRun
    numbering: Numbering = field(init=False)
    arrivals: dict[int, PlayedArrival] = field(default_factory=dict)
    rows: list[JoinedRow] = field(default_factory=list)
    moments: list[SidesMoment] = field(default_factory=list)
    _operator: StandaloneJoin = field(init=False)
    _gates: dict[str, Gate] = field(init=False)

    def __post_init__(self) -> None:
        self.numbering = Numbering(self.spec)
        intakes = numbered_intakes(self.run.intakes or {})
        self._operator = StandaloneJoin(with_matches(self.spec), intakes=intakes)
        self._gates = {name: Gate(intake, TimeReader.of(self.spec)) for name, intake in intakes.items()}

    def take(self, arrivals: list[Arrival], *, ends: bool) -> None:
        """One step."""
        number = len(self.moments) + 1
        if arrivals:
            self._operator.add_all(arrivals)
        for one in arrivals:
            if one.came is not None:
                self._note_arrivals(one, number, ends)
        if ends:
            self._operator.end()
        if self._operator.is_bound:
            self._note_letters(number)
            self._note_rows(self._operator.take(), step_name(number, ends))
        for gone, step in self.numbering.gone.items():
            if step == number and gone in self.arrivals and self.arrivals[gone].fate is not Fate.DEAD:
                self.arrivals[gone] = replace(self.arrivals[gone], fate=Fate.TAKEN_BACK)
        sides = self.spec.left.name, self.spec.right.name
        reached = dict.fromkeys(sides, END_OF_TIME) if ends else dict(self._operator.watermarks)
        self.moments.append(SidesMoment(number, reached, ends))

    def _note_arrivals(self, one: Arrival, number: int, ends: bool) -> None:
        """Records as the join sees them; what a stream leaves out is not there."""
        assert one.came is not None
        name = one.said.source or ""
        batch = self._gates[name].take(one.came.parted()[0], self._operator.clock).batch
        for row in batch.to_pylist():
            key = tuple(row[column] for column in self.spec.keys)
            record = row[name]
            place = record.pop(NUMBER)
            if place not in self.arrivals:  # a delete has come with its row already
                at = _on_axis(row[TIME])
                fate = Fate.DELETE if place in self.numbering.deletes else Fate.ACCEPTED
                self.arrivals[place] = PlayedArrival(number, key, at, record, fate, is_at_end=ends, source=name)

    def _note_letters(self, number: int) -> None:
        for letter in self._operator.take_dead_letters().to_pylist():
            place = _number_in(letter["record"])
            if place not in self.arrivals:
                continue
            dead = replace(self.arrivals[place], fate=Fate.DEAD, reason=letter["reason"])
            if dead.step < number:  # a delete that came too late: its row stays
                self.numbering.gone.pop(place, None)
                place, dead = self.numbering.next(), replace(dead, step=number)
            self.arrivals[place] = dead

    def _note_rows(self, left: pa.Table, step: str) -> None:
        windows = _windows(left) if isinstance(self.spec, WindowJoinSpec) else None
        other = self.spec.right_name(NUMBER, (NUMBER,))
        for at, row in enumerate(left.drop_columns([] if windows is None else [WINDOW]).to_pylist()):
            of_left, of_right, values = row.get(NUMBER), row.get(other), {}
            rights = () if of_right is None else (of_right,)
            if isinstance(self.spec, AggregatedJoinSpec):
                values = {name: row[name] for name, _ in self.spec.aggregates}
                rights = tuple(row[MATCHES] or ())
            if self.spec.op is not None and row[OP] in TAKES_BACK:
                self._take_back(of_left, rights, step)
                continue
            key = self.arrivals[next(number for number in (of_left, *rights) if number is not None)].key
            window = None if windows is None else windows[at]
            self.rows.append(JoinedRow(key, of_left, rights, step, values, window))

    def _take_back(self, left: int | None, rights: tuple[int, ...], step: str) -> None:
        """Of equal rows the first that stands."""
        stands = next(
            at for at, row in enumerate(self.rows) if (row.left, row.rights) == (left, rights) and row.until is None
        )
        self.rows[stands] = replace(self.rows[stands], until=step)


def _on_axis(time: Timestamp | None) -> Timestamp | None:
    """A time as the axis has it: None if it cannot be read; that of a table without times is the start of time."""
    if time is None or time < EARLIEST:
        return None
    return START_OF_TIME if time == EARLIEST else time


def _number_in(record: Mapping[str, Any]) -> int:
    """The number of a record: beside its columns, or inside the struct of its side."""
    found: Iterable[Mapping[str, Any]] = (record, *(part for part in record.values() if isinstance(part, dict)))
    return int(next(part[NUMBER] for part in found if part.get(NUMBER) is not None))


def _windows(rows: pa.Table) -> list[Window]:
    """The windows of joined rows."""
    column = rows.column(WINDOW).combine_chunks()
    starts, ends = (column.field(name).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    return [Window(start, end) for start, end in zip(starts, ends, strict=True)]
