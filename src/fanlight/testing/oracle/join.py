"""Joins, read slowly from the law: all rows are kept, and every step looks at every pair of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.reason import Reason
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several
from fanlight.testing.script import DeadLetter, Record

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
class _Row:
    """A row that was accepted. `partners` are those that match it, `left_already` those it has left with."""

    time: int
    came: int
    record: Record
    partners: list[_Row] = field(default_factory=list)
    left_already: list[_Row] = field(default_factory=list)
    is_done: bool = False
    """Whether nothing of it will leave any more."""

    @property
    def order(self) -> tuple[int, int]:
        """By time, then as they came."""
        return self.time, self.came


@dataclass(slots=True)
class _SideInput:
    """How far one side has come."""

    delay: int | None
    own: int | None = None
    """What its records or its own words say."""
    watermark: int = START_OF_TIME
    """What its records are judged by: it never goes back."""
    spoke: int | None = None
    rows: list[_Row] = field(default_factory=list)
    counts: SideCounts = SideCounts()

    def say(self, watermark: int) -> None:
        """Move on, never back."""
        self.own = watermark if self.own is None else max(self.own, watermark)


class JoinOracle:
    """One run of a join, in one shard; `step` takes it further.

    >>> from fanlight.model.join.interval import Interval
    >>> from fanlight.model.time.duration import Duration
    >>> from fanlight.model.time.watermarks import bounded_disorder, several
    >>> told = several({"p": bounded_disorder("0 s"), "o": bounded_disorder("0 s")})
    >>> sides = Side("o", "ts", keys=("id",)), Side("p", "ts", keys=("id",))
    >>> spec = IntervalJoinSpec(*sides, Interval(Duration(0), Duration(5)), watermark=told)
    >>> oracle = JoinOracle(spec, ("ts", "id"), ("ts", "id", "paid"))
    >>> oracle.step(JoinStep(left=({"ts": 1, "id": 7},), right=({"ts": 4, "id": 7, "paid": 3},))).rows
    ({'ts': 1, 'id': 7, 'ts_p': 4, 'paid': 3},)
    """

    def __init__(
        self, spec: IntervalJoinSpec, left: Sequence[str], right: Sequence[str], condition: Holds | None = None
    ) -> None:
        """A run of `spec` over sides with these columns; `condition` is what its `where` says."""
        if not isinstance(spec.watermark, Several):
            raise SpecError("oracle of joins: each side has a watermark of its own. Use several(…).")
        self.spec = spec
        self.columns = tuple(left), tuple(right)
        self.condition = condition
        self.idle = spec.watermark.idle
        strategies = dict(spec.watermark.inputs)
        self.right = _SideInput(_delay(strategies[spec.right.name]))
        self.left = _SideInput(_delay(strategies[spec.left.name]))
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
        rows = self._eager() if self.spec.mode is EmissionMode.EAGER else self._on_close()
        return JoinOutcome(tuple(rows), tuple(letters), self.left.counts, self.right.counts, self._handed_on())

    def _take(
        self, one: _SideInput, side: Side, records: tuple[Record, ...], watermark: int | None, letters: list[DeadLetter]
    ) -> None:
        accepted, speaks = 0, watermark is not None
        for record in records:
            self.came += 1
            reason = self._fault(record[side.time])
            if reason is None:
                speaks = True
                if one.delay is not None:
                    one.say(record[side.time] - one.delay)
                if record[side.time] < self._judging(one):
                    reason = Reason.EXPIRED
            if reason is None:
                accepted += 1
                one.rows.append(_Row(record[side.time], self.came, record))
                self.fresh.add(self.came)
            else:
                letters.append((reason, record))
        if watermark is not None:
            one.say(watermark)
        if self.clock != START_OF_TIME and (speaks or one.spoke is None):
            one.spoke = self.clock
        one.counts = SideCounts(len(records), accepted, len(records) - accepted)

    def _fault(self, time: int | None) -> Reason | None:
        if time is None:
            return Reason.NULL_TIME
        if not EARLIEST <= time <= LATEST:
            return Reason.TIME_OUT_OF_RANGE
        ahead = self.spec.ahead
        if ahead is not None and self.clock != START_OF_TIME and time > self.clock + ahead.micros:
            return Reason.TOO_FAR_AHEAD
        return None

    def _judging(self, one: _SideInput) -> int:
        """The watermark of a side less the lateness; the ends of time are what they are."""
        return _less(one.watermark, self.spec.lateness.micros)

    def _move(self, *, ends: bool) -> None:
        """The watermarks after the step: of both together, and of each side."""
        both = self.left, self.right
        for one in both:
            if ends:
                one.say(END_OF_TIME)
        going = [one for one in both if one.own != END_OF_TIME]
        awake = [one for one in going if not self._is_idle(one)]
        if not going:
            together = END_OF_TIME
        elif not awake:
            together = max((one.own for one in going if one.own is not None), default=START_OF_TIME)
        else:
            together = min(START_OF_TIME if one.own is None else one.own for one in awake)
        self.together = max(self.together, together)
        for one in both:
            own = START_OF_TIME if one.own is None else one.own
            reached = own if one in awake else max(own, self.together)
            one.watermark = max(one.watermark, reached)

    def _is_idle(self, one: _SideInput) -> bool:
        return self.idle is not None and one.spoke is not None and self.clock >= one.spoke + self.idle.micros

    def _match(self) -> None:
        """Note the pairs that have a row of this step."""
        for left in self.left.rows:
            for right in self.right.rows:
                if (left.came in self.fresh or right.came in self.fresh) and self._matches(left, right):
                    left.partners.append(right)
                    right.partners.append(left)

    def _matches(self, left: _Row, right: _Row) -> bool:
        match = self.spec.match
        apart = right.time - left.time
        lower, upper = match.lower.micros, match.upper.micros
        inside = (
            (lower <= apart if match.closed in ("both", "left") else lower < apart)
            and (apart <= upper if match.closed in ("both", "right") else apart < upper)
        )  # fmt: skip
        keys = zip(self.spec.left.keys, self.spec.right.keys, strict=True)
        return (
            inside
            and all(_equal(left.record[own], right.record[other]) for own, other in keys)
            and (self.condition is None or self.condition(left.record, right.record) is True)
        )

    def _ends_of_match(self) -> tuple[int, int]:
        """Before which time a left row finds no match any more, and a right row."""
        match = self.spec.match
        return _less(self._judging(self.right), match.most), _less(self._judging(self.left), -match.least)

    def _on_close(self) -> list[Record]:
        how, (no_right, no_left) = self.spec.how, self._ends_of_match()
        rows: list[Record] = []
        for left in _due(self.left.rows, min(self._judging(self.left), no_right)):
            partners = sorted(left.partners, key=lambda row: row.order)
            if how.of_left_only:
                rows += [self._joined(left, None)] if bool(partners) is (how is JoinType.SEMI) else []
            elif partners:
                rows += [self._joined(left, right) for right in partners]
            elif how.pads_left:
                rows.append(self._joined(left, None))
        for right in _due(self.right.rows, min(self._judging(self.right), no_left)):
            if how.pads_right and not right.partners:
                rows.append(self._joined(None, right))
        return rows

    def _eager(self) -> list[Record]:
        how, (no_right, no_left) = self.spec.how, self._ends_of_match()
        rows: list[Record] = []
        for left in sorted(self.left.rows, key=lambda row: row.order):
            fresh = [right for right in left.partners if right not in left.left_already]
            if how is JoinType.SEMI and fresh and not left.left_already:
                rows.append(self._joined(left, None))
            elif not how.of_left_only:
                rows += [self._joined(left, right) for right in sorted(fresh, key=lambda row: row.order)]
            left.left_already += fresh
        for left in _due(self.left.rows, no_right):
            if not left.partners and (how.pads_left or how is JoinType.ANTI):
                rows.append(self._joined(left, None))
        for right in _due(self.right.rows, no_left):
            if not right.partners and how.pads_right:
                rows.append(self._joined(None, right))
        return rows

    def _joined(self, left: _Row | None, right: _Row | None) -> Record:
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

    def _handed_on(self) -> int:
        """How far rows that leave later can be behind: as the law says it."""
        match, waits = self.spec.match, 0
        if self.spec.stamp == "right":
            waits = max(-match.least, 0)
            if self.spec.mode is EmissionMode.ON_CLOSE:
                waits = max(match.most, 0) - match.least
        else:
            waits = max(match.most, 0)
        return max(_less(self.together, waits + self.spec.lateness.micros), START_OF_TIME)


def _due(rows: Iterable[_Row], horizon: int) -> list[_Row]:
    """The rows before `horizon` that were not due before, in order; they are done."""
    due = sorted((row for row in rows if row.time < horizon and not row.is_done), key=lambda row: row.order)
    for row in due:
        row.is_done = True
    return due


def _less(moment: int, by: int) -> int:
    """A watermark moved back; the start and the end of time stay."""
    return moment if moment in (START_OF_TIME, END_OF_TIME) else moment - by


def _equal(one: Any, other: Any) -> bool:
    """Whether keys are equal: null equals nothing, NaN itself."""
    if one is None or other is None:
        return False
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)


def _delay(strategy: object) -> int | None:
    """How far the watermark of a side is behind its records; None if it is told."""
    if isinstance(strategy, Explicit):
        return None
    if isinstance(strategy, BoundedDisorder) and not strategy.per_record and strategy.every is None:
        return strategy.delay.micros
    raise SpecError(
        f"oracle of joins: {strategy} is not read here. Use Explicit, or BoundedDisorder for whole bundles."
    )
