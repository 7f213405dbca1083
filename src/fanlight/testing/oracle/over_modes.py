"""Over as rows come, and over kept up to date, read slowly from the law: all rows are kept and computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanlight.model.aggregates import Aggregate
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.firing import Op
from fanlight.model.over.spec import Computed, OverSpec
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.oracle.changes import is_delete, without_operation
from fanlight.testing.oracle.order import null_last
from fanlight.testing.oracle.over import KeptRow, OverOracle, OverOutcome, Stretch, frame_rows
from fanlight.testing.oracle.sort import SortOracle
from fanlight.testing.script import Record, Step, as_key, same


class EagerOracle(OverOracle):
    """One run of `over` as rows come, in one shard; `step` takes it further.

    >>> from fanlight.model.aggregates import sum
    >>> from fanlight.model.over.frame import range
    >>> spec = OverSpec("ts", (("s", range("2 us"), sum("v")),), watermark=Explicit(), mode=EmissionMode.EAGER)
    >>> EagerOracle(spec).step(Step(records=({"ts": 3, "v": 10}, {"ts": 1, "v": 1}))).rows
    ({'ts': 3, 'v': 10, 's': 11}, {'ts': 1, 'v': 1, 's': 1})
    """

    mode = EmissionMode.EAGER

    def _release(self) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """Say the rows that have come: those that leave, and those that cannot."""
        said = {id(row): self._said(rows, place) for rows in self._stretches() for place, row in enumerate(rows)}
        fresh = [row for row in self.kept if not row.has_left]
        for row in fresh:
            row.has_left = True
        fitting = tuple(said[id(row)][0] for row in fresh if said[id(row)][1])
        return fitting, tuple(said[id(row)][0] for row in fresh if not said[id(row)][1])


@dataclass(eq=False, slots=True)
class ShownRow(KeptRow):
    """A row that was accepted, with the values it was last shown with, and whether it is there."""

    shown: Record | None = None
    misfits: bool = False
    """Whether a type could not hold a value of its, when it was last looked at."""
    is_gone: bool = False


class RetractingOracle(OverOracle):
    """One run of `over` that is kept up to date, in one shard; `step` takes it further.

    >>> from fanlight.model.aggregates import sum
    >>> from fanlight.model.over.frame import range
    >>> from fanlight.model.time.duration import Duration
    >>> said = dict(watermark=Explicit(), mode=EmissionMode.RETRACTING, retention=Duration(9))
    >>> oracle = RetractingOracle(OverSpec("ts", (("s", range("2 us"), sum("v")),), **said))
    >>> oracle.step(Step(records=({"ts": 3, "v": 10},))).rows
    ({'ts': 3, 'v': 10, 's': 10, 'op': '+I'},)
    >>> [(row["op"], row["ts"], row["s"]) for row in oracle.step(Step(records=({"ts": 1, "v": 1},))).rows]
    [('+I', 1, 1), ('-U', 3, 10), ('+U', 3, 11)]
    """

    mode = EmissionMode.RETRACTING

    def __init__(self, spec: OverSpec) -> None:
        super().__init__(spec)
        self.live: list[ShownRow] = []
        """All rows that came, in the order they did; those that are gone are marked until it is said."""
        self.judge = _Changing(spec, self.live)

    def step(self, step: Step) -> OverOutcome:
        """One step of the law: the clock, the changes, the watermark, and then what differs from what was shown."""
        judged = self.judge.step(step)
        horizon = _horizon(self.spec, self.watermark)
        if self.spec.by and horizon < END_OF_TIME:
            for row in self.live:
                row.is_gone = row.is_gone or row.time < horizon
        self.kept = [row for row in self.live if not row.is_gone]
        rows, withheld = self._differences()
        self.live[:] = [row for row in self.live if not row.is_gone]
        return OverOutcome(
            rows, judged.dead_letters, judged.records_in, judged.accepted, judged.watermark, tuple(withheld)
        )

    def net(self) -> list[Record]:
        """The rows that are shown, without their operation."""
        return [{**row.record, **row.shown} for row in self.live if row.shown is not None]

    def _differences(self) -> tuple[tuple[Record, ...], list[Record]]:
        said: list[Record] = []
        withheld: list[Record] = []
        values = {id(row): self._said(rows, place) for rows in self._stretches() for place, row in enumerate(rows)}
        ordered = self._ordered(self.live)
        for row in ordered:
            assert isinstance(row, ShownRow)
            if row.is_gone and row.shown is not None:
                said.append(self._as_change(row, row.shown, Op.DELETE))
        for row in ordered:
            assert isinstance(row, ShownRow)
            if row.is_gone:
                continue
            whole, fits = values[id(row)]
            if not fits and not row.misfits:
                withheld.append(whole)
            row.misfits = not fits
            new = {one.name: whole[one.name] for one in self.spec.new_columns}
            if not fits or (row.shown is not None and same(row.shown, new)):
                continue
            if row.shown is not None:
                said.append(self._as_change(row, row.shown, Op.RETRACT))
            said.append(self._as_change(row, new, Op.INSERT if row.shown is None else Op.UPDATE))
            row.shown = new
        return tuple(said), withheld

    def _as_change(self, row: KeptRow, values: Record, op: Op) -> Record:
        """A row with its operation, which has its place among the columns if changes came."""
        whole = {**row.record, **values}
        if self.spec.changes is None:
            return {**whole, self.spec.op: op.code}
        assert isinstance(self.judge, _Changing)
        names = [*self.judge.names, *(one.name for one in self.spec.new_columns)]
        return {name: op.code if name == self.spec.op else whole[name] for name in names}

    def _ordered(self, rows: Sequence[KeptRow]) -> list[KeptRow]:
        """By time and `order`, or by the columns of `by` alone; then as they came."""
        if not self.spec.by:
            return super()._ordered(rows)
        found = list(rows)
        for by in reversed(self.spec.by):
            placed = [(_value_of(self.spec, by.column, row), row) for row in found]
            there = [one for one in placed if one[0] is not None]
            there.sort(key=lambda one: null_last(one[0]), reverse=by.descending)
            found = [row for _, row in [*there, *(one for one in placed if one[0] is None)]]
        return found

    def _value(self, one: Computed, stretch: Stretch, place: int) -> Any:
        """The same in an order by columns: rows that are equal in them are as of one time."""
        if not self.spec.by:
            return super()._value(one, stretch, place)
        alike = [KeptRow(axis, row.key, row.record) for axis, row in zip(self._axis(stretch), stretch, strict=True)]
        if not isinstance(one.function, Aggregate):
            return super()._value(one, alike, place)
        time_of = {id(other): row.time for other, row in zip(alike, stretch, strict=True)}
        seen = frame_rows(one.frame, alike, place)
        return compute(one.function, [(time_of[id(row)], given(one.function, row.record)) for row in seen])

    def _axis(self, stretch: Stretch) -> list[int]:
        """A number for each row, the same for those that are peers; where rows are ordered by time, their distance."""
        first = self.spec.by[0]
        if [by.column for by in self.spec.by] == [self.spec.time]:
            return [-row.time if first.descending else row.time for row in stretch]
        peers: list[tuple[Any, ...]] = []
        found = []
        for row in stretch:
            values = tuple(_value_of(self.spec, by.column, row) for by in self.spec.by)
            if not peers or not same(list(peers[-1]), list(values)):
                peers.append(values)
            found.append(len(peers))
        return found


class _Changing(SortOracle):
    """Judges records as a sort does, but for how late one may be; and makes the changes that they are to `live`."""

    def __init__(self, spec: OverSpec, live: list[ShownRow]) -> None:
        assert isinstance(spec.watermark, Explicit | BoundedDisorder)
        ahead = None if spec.ahead is None else spec.ahead.micros
        super().__init__(spec.time, (), spec.watermark, ahead, spec.changes)
        self.spec = spec
        self.live = live
        self.names: list[str] = []

    def _judged_by(self) -> int:
        return _horizon(self.spec, super()._judged_by())

    def _change(self, record: Record) -> Reason | None:
        self.names = list(record)
        row = record if self.changes is None else without_operation(self.changes, record)
        time = record[self.time]
        if self.changes is None or not is_delete(self.changes, record):
            self.live.append(ShownRow(time, as_key(row[name] for name in self.spec.keys), row))
            return None
        for other in self.live:
            if not other.is_gone and other.time == time and same(dict(other.record), dict(row)):
                other.is_gone = True
                return None
        return Reason.NO_SUCH_ROW


def _horizon(spec: OverSpec, watermark: int) -> int:
    """The least time of a record that is taken, where one is taken for as long as it can be corrected."""
    assert spec.retention is not None
    if spec.retention.is_forever:
        return START_OF_TIME
    return watermark if watermark == END_OF_TIME else watermark - spec.retention.micros


def _value_of(spec: OverSpec, column: str, row: KeptRow) -> Any:
    return row.time if column == spec.time else row.record[column]


ORACLES: dict[EmissionMode, type[OverOracle]] = {one.mode: one for one in (OverOracle, EagerOracle, RetractingOracle)}
"""The oracle of each mode."""
