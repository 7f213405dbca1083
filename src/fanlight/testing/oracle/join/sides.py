"""Two inputs that are joined, read slowly: who is judged by what, and how far each side has come.

Each kind of match reads its own law: which rows match, which leave, and the watermark that is handed on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fanlight.errors import SpecError
from fanlight.model.join.sides import Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several
from fanlight.testing.oracle.changes import is_delete, operation, without_operation
from fanlight.testing.script import DeadLetter, Record

JoinSpec_ = TypeVar("JoinSpec_", bound=JoinSpec)
"""What a join was declared as."""
Holds = Callable[[Record, Record], bool | None]
"""A condition of a left and a right record."""


@dataclass(frozen=True, slots=True)
class JoinStep:
    """What one step of a join takes in: records and watermarks by side; any of it may be missing.

    A watermark at the end of time says that its side has ended; `end` that both have.
    """

    left: tuple[Record, ...] = ()
    right: tuple[Record, ...] = ()
    left_watermark: int | None = None
    right_watermark: int | None = None
    clock: int | None = None
    end: bool = False


@dataclass(frozen=True, slots=True)
class SideCounts:
    """What became of the records of one side."""

    records_in: int = 0
    accepted: int = 0
    dead_letters: int = 0


@dataclass(frozen=True, slots=True)
class JoinOutcome:
    """What one step of a join gave: rows in their order, dead letters, counts by side, the watermark handed on."""

    rows: tuple[Record, ...]
    dead_letters: tuple[DeadLetter, ...]
    left: SideCounts
    right: SideCounts
    watermark: int


@dataclass(slots=True, eq=False)
class JoinRow:
    """A row that was accepted. `partners` are those that match it, `left_already` those it has left with."""

    time: int
    came: int
    record: Record
    partners: list[JoinRow] = field(default_factory=list)
    left_already: list[JoinRow] = field(default_factory=list)
    is_done: bool = False
    """Whether nothing of it will leave any more."""
    is_gone: bool = False
    """Whether a record that comes now does not find it any more."""

    @property
    def order(self) -> tuple[int, int]:
        """By time, then as they came."""
        return self.time, self.came


@dataclass(slots=True)
class SideInput:
    """How far one side has come."""

    delay: int | None
    own: int | None = None
    """What its records or its own words say."""
    watermark: int = START_OF_TIME
    """What its records are judged by: it never goes back."""
    spoke: int | None = None
    ready: int | None = None
    """What its own watermark must have reached before it counts."""
    rows: list[JoinRow] = field(default_factory=list)
    counts: SideCounts = SideCounts()

    @property
    def is_awaited(self) -> bool:
        """Whether it has not got so far that it counts."""
        return self.ready is not None and (self.own is None or self.own < self.ready)

    @property
    def told(self) -> int | None:
        """What it says, as far as it counts."""
        return None if self.is_awaited else self.own

    def say(self, watermark: int) -> None:
        """Move on, never back."""
        self.own = watermark if self.own is None else max(self.own, watermark)


class JoinOracle(ABC, Generic[JoinSpec_]):
    """One run of a join, in one shard; `step` takes it further."""

    def __init__(
        self, spec: JoinSpec_, left: Sequence[str], right: Sequence[str], condition: Holds | None = None
    ) -> None:
        """A run of `spec` over sides with these columns; `condition` is what its `where` says."""
        if not isinstance(spec.watermark, Several):
            raise SpecError("oracle of joins: each side has a watermark of its own. Use several(…).")
        self.spec = spec
        self.columns = tuple(left), tuple(right)
        self.condition = condition
        self.idle, self.combine = spec.watermark.idle, spec.watermark.combine
        strategies: dict[str, object] = dict(spec.watermark.inputs)
        ready = dict(spec.watermark.ready)
        self.right = SideInput(delay_of(strategies[spec.right.name]), ready=ready.get(spec.right.name))
        self.left = SideInput(delay_of(strategies[spec.left.name]), ready=ready.get(spec.left.name))
        self.came = 0
        self.clock = START_OF_TIME
        self.together = START_OF_TIME
        self.fresh: set[int] = set()

    def step(self, step: JoinStep) -> JoinOutcome:
        """One step of the law, in its order: the clock, the records, the watermarks, what leaves."""
        self.clock = max(self.clock, START_OF_TIME if step.clock is None else step.clock)
        letters: list[DeadLetter] = []
        self.fresh = set()
        said = step.right_watermark, step.left_watermark
        for one, side, records, watermark in (
            (self.right, self.spec.right, step.right, said[0]),
            (self.left, self.spec.left, step.left, said[1]),
        ):
            self._take(one, side, records, watermark, letters)
        self._match()
        self._move(ends=step.end)
        rows = self._leaving()
        return JoinOutcome(tuple(rows), tuple(letters), self.left.counts, self.right.counts, self._handed_on())

    def _take(
        self, one: SideInput, side: Side, records: tuple[Record, ...], watermark: int | None, letters: list[DeadLetter]
    ) -> None:
        accepted, speaks = 0, watermark is not None
        for record in records:
            self.came += 1
            reason = fault_of(record[side.time], self.spec.ahead, self.clock)
            if reason is None:
                speaks = True
                if one.delay is not None:
                    one.say(record[side.time] - one.delay)
                reason = self._changed(one, side, record)
            if reason is None:
                accepted += 1
            else:
                letters.append((reason, _row_of(side, record)))
        if watermark is not None:
            one.say(watermark)
        if self.clock != START_OF_TIME and (speaks or one.spoke is None):
            one.spoke = self.clock
        one.counts = SideCounts(len(records), accepted, len(records) - accepted)

    def _changed(self, one: SideInput, side: Side, record: Record) -> Reason | None:
        """Make the change that a record is: most insert a row."""
        changes = side.changes
        if changes is not None and operation(changes, record) is None:
            return Reason.NO_SUCH_OPERATION
        late = self._late(record[side.time], self._judged(one))
        if late is not None:
            return late
        row = _row_of(side, record)
        if changes is None or not is_delete(changes, record):
            one.rows.append(JoinRow(record[side.time], self.came, row))
            self.fresh.add(self.came)
            return None
        found = next((there for there in one.rows if _is_same_row(side, there.record, row)), None)
        if found is None:
            return Reason.NO_SUCH_ROW
        one.rows.remove(found)
        for partner in found.partners:
            partner.partners.remove(found)
        return None

    def _judged(self, one: SideInput) -> int:
        """What the records of a side are judged by."""
        return self._judging(one)

    def _late(self, time: int, watermark: int) -> Reason | None:
        """Why a record of this time is not taken, where the watermark of its own side, less the lateness, is this."""
        return Reason.EXPIRED if time < watermark else None

    def _judging(self, one: SideInput) -> int:
        """The watermark of a side less the lateness; the ends of time are what they are."""
        return less(one.watermark, self.spec.lateness.micros)

    def _move(self, *, ends: bool) -> None:
        """The watermarks after the step: of both together, and of each side."""
        both = self.left, self.right
        self.together = move(both, self.together, self.clock, self.idle, self.combine, ends=ends)

    @abstractmethod
    def _match(self) -> None:
        """Note the pairs that have a row of this step."""

    @abstractmethod
    def _leaving(self) -> list[Record]:
        """The rows that leave in this step, in order."""

    @abstractmethod
    def _handed_on(self) -> int:
        """The watermark of the rows that leave later."""

    def _joined(self, left: JoinRow | None, right: JoinRow | None) -> Record:
        names, others = self.columns
        row: dict[str, Any] = {name: None if left is None else left.record[name] for name in names}
        if self.spec.how.of_left_only:
            return row
        for own, other in zip(self.spec.left.keys, self.spec.right.keys, strict=True):
            if left is None and right is not None:
                row[own] = right.record[other]
        for name in others:
            if name not in self.spec.right.keys:
                called = f"{name}_{self.spec.right.name}" if name in names else name
                row[called] = None if right is None else right.record[name]
        return row


def fault_of(time: int | None, ahead: Duration | None, clock: int) -> Reason | None:
    """Why a record of this time cannot be used, whatever the watermark is."""
    if time is None:
        return Reason.NULL_TIME
    if not EARLIEST <= time <= LATEST:
        return Reason.TIME_OUT_OF_RANGE
    if ahead is not None and clock != START_OF_TIME and time > clock + ahead.micros:
        return Reason.TOO_FAR_AHEAD
    return None


def move(
    inputs: Sequence[SideInput], together: int, clock: int, idle: Duration | None, combine: Combine, *, ends: bool
) -> int:
    """Move the watermark of each input to what it is after the step; returns that of all together."""
    for one in inputs:
        if ends:
            one.say(END_OF_TIME)
    going = [one for one in inputs if one.own != END_OF_TIME]
    awake = [one for one in going if one.is_awaited or not _is_idle(one, clock, idle)]
    if not going:
        reached = END_OF_TIME
    elif not awake:
        reached = max((one.told for one in going if one.told is not None), default=START_OF_TIME)
    else:
        reached = min(START_OF_TIME if one.told is None else one.told for one in awake)
    if combine is Combine.MAX:
        reached = max(START_OF_TIME if one.told is None else one.told for one in inputs)
    together = max(together, reached)
    for one in inputs:
        own = START_OF_TIME if one.told is None else one.told
        alone = one in awake or combine is Combine.MAX
        one.watermark = max(one.watermark, own if alone else max(own, together))
    return together


def _is_idle(one: SideInput, clock: int, idle: Duration | None) -> bool:
    return idle is not None and one.spoke is not None and clock >= one.spoke + idle.micros


def _row_of(side: Side, record: Record) -> Record:
    return record if side.changes is None else without_operation(side.changes, record)


def _is_same_row(side: Side, there: Record, row: Record) -> bool:
    """Whether a delete means this row: it has its time and its key, and its unique columns or all."""
    assert side.changes is not None
    names = (side.time, *side.keys, *side.changes.unique) if side.changes.unique else tuple(row)
    return all(same_value(there[name], row[name]) for name in names)


def due_rows(rows: Iterable[JoinRow], horizon: int) -> list[JoinRow]:
    """The rows before `horizon` that were not due before, in order; they are done."""
    due = sorted((row for row in rows if row.time < horizon and not row.is_done), key=lambda row: row.order)
    for row in due:
        row.is_done = True
    return due


def less(moment: int, by: int) -> int:
    """A watermark moved back; the start and the end of time stay."""
    return moment if moment in (START_OF_TIME, END_OF_TIME) else moment - by


def same_key(one: Any, other: Any) -> bool:
    """Whether keys are equal: null equals nothing, NaN itself."""
    if one is None or other is None:
        return False
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)


def same_value(one: Any, other: Any) -> bool:
    """Whether values are the same: null as null, NaN as NaN."""
    return (one is None and other is None) or same_key(one, other)


def delay_of(strategy: object) -> int | None:
    """How far the watermark of a side is behind its records; None if it is told."""
    if isinstance(strategy, Explicit):
        return None
    if isinstance(strategy, BoundedDisorder) and not strategy.per_record and strategy.every is None:
        return strategy.delay.micros
    raise SpecError(
        f"oracle of joins: {strategy} is not read here. Use Explicit, or BoundedDisorder for whole bundles."
    )
